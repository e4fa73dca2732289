"""Telling receivers outside what happened: signed POSTs to addresses that are judged as they are connected to."""
