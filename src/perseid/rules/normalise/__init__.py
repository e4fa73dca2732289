"""From what a page says to values: numbers, prices, dates, addresses, truths; in many languages, without guessing."""
