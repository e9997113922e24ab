"""How the dashboard draws: signs, palettes, text of a width, graphs. Knows no device and no screen."""
