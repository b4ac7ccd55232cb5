"""Abbreviations whose full stop ends no sentence."""

# Case-folded and without the stop. Initials and dotted forms (e.g., z.B., т.е.) need no entry. An entry is
# worth its place when a capital or a digit usually follows it, or when it is four letters long or longer.
ABBREVIATIONS = frozenset(
    """
    adm al approx apr assn aug ave bldg blvd bros ca capt cf chap cmdr co comdr corp cpl dec dept dist dr eds
    eqs etc feb figs gen gov hon inc incl jan jr lieut lt ltd maj messrs mfg mlle mme mr mrs ms mt mts
    nov oct ph pres prof pvt rep resp rev sen sep sept sgt sp spp sr st ste str subsp suppl supt univ viz vit
    vols vs
    abt aufl bzw dipl evtl ggf hrsg inkl ing jh mio mrd phil sog stk std tsd usw verl vgl
    aprox avda cía cmdt dpto dra dña exc excmo gral licdo núm núms pág págs séc soc sra sras sres srta ud uds
    vda éd fasc mgr mlles mmes suiv tél
    dott ecc egr pagg sig sigg spett bijv blz dhr drs enz evt jl mevr vlg zgn
    акад бул вв гг губ доп доц др зам изд илл им инж кв коп корп корр куб млн млрд моск мл нач обл оз полк пос
    пр прим проф проц рис руб св сев соч ср ст табл тел тов тыс ул фил чел экз юж
    """.split()
)

# Those that are words too, or that end sentences: only before a number does their stop end none.
NUMBERED = frozenset(
    """
    abb abs art bd cap ch col ed eq est fig fl kap no nos nr nº op p pag pl pp pt ref refs sec sect ser tab
    vol var ver гл п пп с см стр ч
    """.split()
)
