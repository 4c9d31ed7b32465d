"""Tests of distributions by themselves: supports, moments by simulation, gradients."""
