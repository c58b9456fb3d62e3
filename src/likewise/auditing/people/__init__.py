"""Model performance and calibration, measured on people."""
