"""Engines that run SQL joins: DuckDB, and the queries that Spark shares with it."""
