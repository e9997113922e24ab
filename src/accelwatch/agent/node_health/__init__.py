"""The node-health check of nvidia-resiliency-ext: may this node join the next rendezvous?"""
