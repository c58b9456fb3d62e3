"""The Spark engine, and queries over people who are in Spark already."""
