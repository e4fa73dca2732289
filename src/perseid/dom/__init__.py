"""The parsed page: one Tree seam over turbohtml, with selectolax as second backend; URL parse and join."""
