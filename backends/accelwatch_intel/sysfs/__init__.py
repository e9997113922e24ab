"""What the drivers xe, i915 and intel_vpu show of a card in /sys."""
