"""Occupations in English by their last word: 'senior backend developer' is one because 'developer' is."""

from __future__ import annotations

from memory.domain.statements.word_list import words

OCCUPATIONS = words(
    """
    accountant actor actress actuary administrator advisor adviser agronomist analyst anaesthetist anesthesiologist
    animator
    anthropologist apprentice archaeologist architect archivist artist assistant astronaut astronomer astrophysicist
    athlete
    attorney auditor author babysitter baker ballerina banker barber barista barman bartender beautician beekeeper
    biochemist
    biologist blacksmith blogger bookkeeper botanist brewer bricklayer broker builder butcher buyer cameraman
    cardiologist
    caregiver caretaker carer carpenter cartographer cashier ceo cfo chef chemist childminder chiropractor
    choreographer cleaner
    clerk coach cobbler collector comedian commander composer conductor confectioner constable consultant contractor
    cook
    coordinator copywriter counsellor counselor courier cto curator dancer dealer decorator dentist dermatologist
    designer
    detective developer dietitian dietician diplomat director dispatcher diver dj doctor doula draughtsman driver
    ecologist
    economist editor educator electrician embroiderer engineer entrepreneur epidemiologist estimator executive farmer
    fencer
    filmmaker firefighter fisherman fitter florist founder co-founder cofounder freelancer gardener geneticist
    geographer
    geologist glazier goldsmith grocer guard guide gynaecologist gynecologist hacker hairdresser hairstylist handyman
    headmaster
    headteacher historian homemaker housekeeper housewife hydrologist hygienist illustrator influencer inspector
    instructor
    intern interpreter inventor investigator investor janitor jeweller jeweler joiner journalist judge juggler
    landscaper
    lawyer lead lecturer librarian lifeguard linguist locksmith logistician machinist magician manager manicurist mason
    masseur mathematician mechanic mediator meteorologist microbiologist midwife milliner miner model mover musician
    nanny
    neurologist neuroscientist neurosurgeon notary novelist nun nurse nutritionist obstetrician oceanographer officer
    oncologist operator optician optometrist organiser organizer orthodontist osteopath owner paediatrician painter
    paralegal
    paramedic pastor pathologist pediatrician pharmacist philosopher photographer physician physicist physiotherapist
    pianist
    pilot plasterer plumber podiatrist poet policeman policewoman politician postman potter principal printer producer
    professor programmer prosecutor psychiatrist psychologist psychotherapist publicist publisher rabbi radiographer
    radiologist ranger realtor receptionist recruiter referee reporter researcher retailer roofer sailor salesman
    salesperson
    saleswoman scholar scientist sculptor seamstress secretary seller sergeant shopkeeper singer soldier solicitor
    songwriter
    specialist statistician steward stewardess stylist superintendent supervisor surgeon surveyor tailor teacher
    technician
    technologist therapist tiler toolmaker translator treasurer tutor typist underwriter upholsterer urologist
    veterinarian vet videographer violinist vlogger waiter waitress watchmaker weaver welder woodworker writer zoologist
    student undergraduate postgraduate postdoc paediatrician nutritionist cellist drummer guitarist gamer streamer
    trainer
    sommelier sysadmin devops sre tester planner officer trader marketer strategist controller engineer volunteer
    resident
    """
)
"""Last words of occupations. Left out on purpose: words that mostly say something else (fan, leader)."""

FIELDS = words(
    """
    accounting advertising aerospace agriculture animation architecture aviation banking biotech biotechnology
    broadcasting
    catering construction consulting cybersecurity dentistry design diplomacy education engineering entertainment
    fashion film
    finance fintech fishing forestry gaming government healthcare hospitality hr insurance it journalism law logistics
    manufacturing marketing media medicine mining music nursing pharma pharmaceuticals politics pr publishing recruiting
    research retail robotics sales science security shipping software sports tech technology telecom telecommunications
    television theatre theater tourism trade transport translation
    """
)
FIELD_PHRASES = frozenset(
    {
        "real estate", "human resources", "customer service", "customer support", "data science", "machine learning",
        "public relations", "video games", "game development", "web development", "software development",
        "public health",
        "social work", "renewable energy", "the film industry", "the music industry", "quality assurance",
        "interior design",
    }
)  # fmt: skip

SUBJECTS_TAUGHT = words(
    """
    maths math mathematics physics chemistry biology history geography english french german spanish music art
    literature
    science economics ukrainian yoga pilates dance drama
    """
)

BUSINESSES = words(
    """
    bakery shop store company business cafe café restaurant startup agency studio farm bar pub hotel hostel bookshop
    bookstore
    gallery salon school workshop brewery vineyard garage clinic practice kindergarten gym
    """
)

NOT_EMPLOYERS = words(
    """
    home night nights weekends weekend pace desk computer distance disadvantage moment same time least place fast lot
    living
    times peace money free food myself fun everyone them him her you us me minute day days week hours hour
    """
)
