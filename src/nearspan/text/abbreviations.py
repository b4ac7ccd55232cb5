"""Abbreviations whose full stop ends no sentence."""

from __future__ import annotations

# Case-folded and without their stop. Initials and dotted forms (e.g., z.B., т.е.) need no entry. An entry is
# worth its place when what follows is usually written with a capital or a digit, or is four letters or longer.
ABBREVIATIONS = frozenset(
    """
    adm al approx apr art assn aug ave bldg blvd bros ca capt cf ch chap cm cmdr co col comdr corp cpl dec
    dept dist dr ed eds eq eqs est etc ex feb fig figs fl fr ft gen gov hon hr hrs inc incl jan jr jul jun kg
    km lieut lt ltd maj mar messrs mfg mg min mm mme mlle mon mr mrs ms mt mts nat no nos nov oct op ph pl
    pp pres prof pt pvt ref refs rep resp rev rs sec sect sen sep sept ser sgt sp spp sq sr ss st ste str
    subsp suppl supt tab tel temp univ var ver viz vol vols vs
    abb abs abt aufl bd bzw dipl evtl ggf hrsg inkl ing jh kap mio mrd nr od phil sog stk std tsd usw verl vgl
    av avda cía aprox exc excmo gral licdo núm núms pág págs sra sras sres srta ud uds vda dña dª
    bul chap éd env etc ét fasc hab mgr mlles mmes pag suiv tél
    dott dr.ssa ecc egr fam gent ing on pag pagg prof.ssa sig sigg sig.ra spett
    bijv blz dhr drs enz evt jl mevr mr nl resp vlg zgn
    акад бул вв гг губ доп доц др ед зам изд им илл инж кв кг км коп корп корр куб мин млн млрд мл моск мм
    нач обл ок оз пер пл полк пос пр прим проф проц рис род руб св сев сек см соч ср ст стр табл тел тов тыс
    ул фил чел шт экз юж
    """.split()
)
