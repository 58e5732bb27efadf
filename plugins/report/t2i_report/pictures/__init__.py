"""Images with their values, reasons and evidence."""
