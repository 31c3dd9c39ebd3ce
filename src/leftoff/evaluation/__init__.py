"""Accuracy of the summaries against labels: scores, confidence intervals, baselines, reports.

A scorer gets labels, recorded messages and predictions as plain values; only `systems` and
`baselines` run a predictor."""
