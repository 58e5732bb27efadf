"""The executor `ray`: models and judges run as workers on the GPUs of one machine or of a cluster."""
