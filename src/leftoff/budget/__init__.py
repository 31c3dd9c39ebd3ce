"""Token usage, context windows, thresholds and forecasts."""
