"""Text files of amdgpu and of the compute driver in /sys."""
