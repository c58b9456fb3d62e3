"""Charts of an audit: as plain data, as SVG, and drawn with matplotlib."""
