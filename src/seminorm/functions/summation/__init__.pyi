from .fast_sum import FastSum as FastSum
