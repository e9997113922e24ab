"""The node-health check of nvidia-resiliency-ext: may this node take part in the next rendezvous?"""
