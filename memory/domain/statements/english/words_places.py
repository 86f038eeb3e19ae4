"""Places that spelling alone cannot place: countries and regions, to tell them from cities, and large cities.

The city list only serves texts typed without capitals; a capitalised name needs no list.
"""

from __future__ import annotations

from memory.domain.statements.word_list import phrases

COUNTRIES = phrases(
    """
    afghanistan|albania|algeria|andorra|angola|argentina|armenia|australia|austria|azerbaijan|bahamas|bahrain|bangladesh
    barbados|belarus|belgium|belize|benin|bhutan|bolivia|bosnia|bosnia and herzegovina|botswana|brazil|brunei|bulgaria
    burkina faso|burundi|cambodia|cameroon|canada|cape verde|chad|chile|china|colombia|congo|costa rica|croatia|cuba
    cyprus
    czechia|czech republic|denmark|djibouti|dominican republic|ecuador|egypt|el salvador|england|eritrea|estonia
    eswatini
    ethiopia|fiji|finland|france|gabon|gambia|georgia|germany|ghana|great britain|greece|guatemala|guinea|guyana|haiti
    honduras|hungary|iceland|india|indonesia|iran|iraq|ireland|israel|italy|ivory coast|jamaica|japan|jordan|kazakhstan
    kenya|kosovo|kuwait|kyrgyzstan|laos|latvia|lebanon|lesotho|liberia|libya|liechtenstein|lithuania|luxembourg
    madagascar
    malawi|malaysia|maldives|mali|malta|mauritania|mauritius|mexico|moldova|mongolia|montenegro|morocco|mozambique
    myanmar
    namibia|nepal|netherlands|holland|new zealand|nicaragua|niger|nigeria|north korea|north macedonia|northern ireland
    norway
    oman|pakistan|palestine|panama|papua new guinea|paraguay|peru|philippines|poland|portugal|qatar|romania|russia
    rwanda
    saudi arabia|scotland|senegal|serbia|sierra leone|slovakia|slovenia|somalia|south africa|south korea|korea
    south sudan
    spain|sri lanka|sudan|suriname|sweden|switzerland|syria|taiwan|tajikistan|tanzania|thailand|togo|tunisia|turkey
    türkiye
    turkmenistan|uganda|uk|u.k|ukraine|united arab emirates|uae|united kingdom|united states|united states of america
    us|usa
    u.s|u.s.a|america|uruguay|uzbekistan|venezuela|vietnam|wales|yemen|zambia|zimbabwe
    """
)

REGIONS = phrases(
    """
    alabama|alaska|arizona|arkansas|california|colorado|connecticut|delaware|florida|hawaii|idaho|illinois|indiana|iowa
    kansas
    kentucky|louisiana|maine|maryland|massachusetts|michigan|minnesota|mississippi|missouri|montana|nebraska|nevada
    new hampshire|new jersey|new mexico|north carolina|north dakota|ohio|oklahoma|oregon|pennsylvania|rhode island
    south carolina|south dakota|tennessee|texas|utah|vermont|virginia|west virginia|wisconsin|wyoming|ontario|alberta
    british columbia|manitoba|saskatchewan|nova scotia|new south wales|queensland|tasmania|bavaria|saxony|tuscany|sicily
    catalonia|andalusia|normandy|brittany|cornwall|yorkshire|crimea|galicia|transcarpathia|donbas|europe|asia
    africa|south america|north america|latin america|scandinavia|middle east|kerala|punjab|bali|silicon valley|bay area
    tx|ca|ny|nj|fl|wa|ma|il|oh|ga|nc|va|az|co|or|pa|mi|mn|md|tn
    """
)

CITIES = phrases(
    """
    lviv|kyiv|kiev|kharkiv|odesa|odessa|dnipro|zaporizhzhia|vinnytsia|poltava|chernihiv|ternopil|lutsk|rivne|uzhhorod
    sumy
    chernivtsi|mykolaiv|kherson|zhytomyr|warsaw|krakow|wroclaw|gdansk|poznan|lodz|prague|brno|bratislava|budapest|vienna
    graz|salzburg|berlin|munich|hamburg|cologne|frankfurt|stuttgart|leipzig|dresden|dusseldorf|zurich|geneva|basel|bern
    paris|lyon|marseille|nice|toulouse|bordeaux|lille|nantes|strasbourg|london|manchester|leeds|liverpool|birmingham
    bristol
    edinburgh|glasgow|cardiff|belfast|oxford|cambridge|dublin|cork|galway|madrid|barcelona|valencia|seville|malaga
    bilbao
    lisbon|porto|braga|rome|milan|naples|turin|florence|venice|bologna|palermo|athens|thessaloniki|sofia|plovdiv
    bucharest
    cluj|iasi|belgrade|zagreb|split|ljubljana|sarajevo|skopje|tirana|amsterdam|rotterdam|utrecht|eindhoven|brussels
    antwerp
    ghent|copenhagen|aarhus|stockholm|gothenburg|malmo|oslo|bergen|helsinki|tampere|tallinn|riga|vilnius|kaunas|minsk
    istanbul|ankara|izmir|tbilisi|yerevan|baku|tel aviv|jerusalem|haifa|cairo|alexandria|casablanca|marrakesh|tunis
    algiers
    lagos|abuja|accra|nairobi|mombasa|kampala|kigali|addis ababa|dar es salaam|johannesburg|cape town|durban|dakar
    luanda
    dubai|abu dhabi|doha|riyadh|jeddah|kuwait city|tehran|baghdad|beirut|amman|karachi|lahore|islamabad|delhi|new delhi
    mumbai|bangalore|bengaluru|chennai|kolkata|hyderabad|pune|ahmedabad|jaipur|dhaka|colombo|kathmandu|bangkok
    chiang mai
    hanoi|ho chi minh city|saigon|singapore|kuala lumpur|jakarta|manila|cebu|hong kong|shanghai|beijing|shenzhen
    guangzhou
    taipei|seoul|busan|tokyo|osaka|kyoto|nagoya|sapporo|fukuoka|sydney|melbourne|brisbane|perth|adelaide|auckland
    wellington
    christchurch|new york|new york city|nyc|brooklyn|los angeles|san francisco|san diego|san jose|seattle|portland
    chicago
    boston|philadelphia|pittsburgh|washington|atlanta|miami|orlando|tampa|dallas|houston|austin|san antonio|denver
    phoenix
    las vegas|salt lake city|minneapolis|detroit|cleveland|columbus|nashville|charlotte|new orleans|kansas city
    st. louis
    toronto|montreal|vancouver|ottawa|calgary|edmonton|winnipeg|quebec city|halifax|mexico city|guadalajara|monterrey
    bogota|medellin|lima|quito|santiago|buenos aires|montevideo|sao paulo|rio de janeiro|brasilia|caracas|havana
    panama city
    """
)

NOT_HOMES = phrases(
    """
    street|avenue|road|lane|boulevard|square|building|hotel|hostel|university|college|school|hospital|station|airport
    house
    apartment|flat|church|inc|ltd|corp|block|tower|room|office|park|court
    """
)

COMPANIES = phrases(
    "google|microsoft|apple|amazon|meta|facebook|netflix|spotify|uber|airbnb|ibm|oracle|intel|sap|samsung|sony|hr|it"
)
"""Names after 'I'm … from' that are employers, not places."""
