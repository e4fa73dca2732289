"""draft"""
DROP = (
    "script, style, template, iframe, svg, select, textarea, input, button, object, embed, canvas, audio, video, "
    "map, datalist, progress, meter, link, meta, noframes"
)
