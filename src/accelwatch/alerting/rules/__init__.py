"""Rules: what is worth an incident, said in files, judged without clock, network or disk.

`document` is the file as it is written, `rule` what it means once it has been checked, `loading` the way
from one to the other, `timing` how long something must hold before it counts.
"""
