"""What plugins that run models of torch share: devices, batches that give way to memory, files of weights.

For plugins that depend on `t2i-core[torch]`; nothing else in core imports it, nor torch.
"""
