"""How the page looks: one column that fits a small phone, large type, colour only for what matters."""

from accelwatch.web.pages.markup import policy

STYLE = """
:root{color-scheme:light dark;--bg:#f6f7f9;--card:#fff;--ink:#14181d;--soft:#56606b;--edge:#d9dee4;
--critical:#b4182d;--warning:#8a5a00;--info:#1f5fb0;--good:#1c7a43;--line:#1f5fb0;--gap:#00000012;
--band:#7a869440;--median:#56606b}
@media(prefers-color-scheme:dark){:root{--bg:#0e1114;--card:#181c21;--ink:#eceff2;--soft:#a3adb8;
--edge:#2d343c;--critical:#ff7182;--warning:#f2b84b;--info:#7db4ff;--good:#5fd38d;--line:#7db4ff;
--gap:#ffffff14;--band:#9aa6b34d;--median:#a3adb8}}
*{box-sizing:border-box}
body{margin:0 auto;padding:0 12px 48px;max-width:680px;background:var(--bg);color:var(--ink);
font:17px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;overflow-wrap:anywhere}
header{margin:0 -12px;padding:12px 12px 14px;border-top:8px solid var(--soft);background:var(--card);
border-bottom:1px solid var(--edge)}
header.critical{border-top-color:var(--critical)}header.warning{border-top-color:var(--warning)}
header.info{border-top-color:var(--info)}header.over{border-top-color:var(--good)}
h1{font-size:1.35rem;line-height:1.25;margin:.2em 0 .3em}
h2{font-size:1rem;margin:0 0 .5em;color:var(--soft);font-weight:600}
p{margin:.4em 0}
.level{font-weight:700;letter-spacing:.04em}
.critical .level{color:var(--critical)}.warning .level{color:var(--warning)}
.info .level{color:var(--info)}.over .level{color:var(--good)}
.soft{color:var(--soft)}.small{font-size:.88rem}
section{background:var(--card);border:1px solid var(--edge);border-radius:10px;padding:14px;
margin:12px 0}
.told{border-left:6px solid var(--info)}.told.good{border-left-color:var(--good)}
.told.bad{border-left-color:var(--critical)}
.waits{border-left:6px solid var(--warning)}
ol,ul{margin:.4em 0;padding-left:1.4em}li{margin:.35em 0}
.held{color:var(--warning)}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25em .8em;margin:.4em 0}
dt{color:var(--soft)}dd{margin:0}
form{margin:14px 0 0}
label{display:block;color:var(--soft);font-size:.88rem;margin:.5em 0 .2em}
input,select{width:100%;font:inherit;padding:10px;border:1px solid var(--edge);border-radius:8px;
background:var(--bg);color:var(--ink)}
button{width:100%;font:inherit;font-weight:700;padding:14px;border-radius:10px;margin-top:10px;
border:2px solid var(--soft);background:var(--card);color:var(--ink);cursor:pointer}
button.yes{background:#1c7a43;border-color:#1c7a43;color:#fff}
button.no{border-color:var(--critical);color:var(--critical)}
details{border-top:1px solid var(--edge);margin-top:14px;padding-top:10px}
summary{cursor:pointer;font-weight:600;padding:8px 0}
.graph{width:100%;height:auto;display:block}
.graph text{font:11px system-ui,sans-serif;fill:var(--soft)}
.graph .grid{stroke:var(--edge)}.graph .line{fill:none;stroke:var(--line);stroke-width:2}
.graph .band{fill:var(--band)}
.graph .median{fill:none;stroke:var(--median);stroke-width:1;stroke-dasharray:2 2}
.graph.key{display:inline-block;width:22px;height:12px;vertical-align:baseline}
figure{margin:12px 0 0}
.graph .gap{fill:var(--gap)}.graph .onset{stroke:var(--critical);stroke-width:1.5;stroke-dasharray:4 3}
.graph .onset-word{fill:var(--critical);font-weight:600}
.time{color:var(--soft);font-variant-numeric:tabular-nums;margin-right:.5em}
.lines{list-style:none;padding:0}
footer{color:var(--soft);font-size:.85rem}
a{color:var(--info)}
"""
HEADERS = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Security-Policy": policy(STYLE),
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
    "X-Robots-Tag": "noindex",
}
