"""What kube-controller-manager does, as far as the action relies on it: each controller of its own."""
