"""Metric names, alert rules, dashboards, forecast: one table, many outputs."""
