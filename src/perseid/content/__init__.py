"""Bytes to a document, CPU only: decode, main, markdown, metadata, selfcheck, pdf, pipeline."""
