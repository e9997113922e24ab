"""What a lab's nodes do over the API: a kubelet each that runs pods as processes, and a scheduler."""
