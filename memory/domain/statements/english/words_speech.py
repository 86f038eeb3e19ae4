"""Languages and nationalities in English."""

from __future__ import annotations

from memory.domain.statements.word_list import words

LANGUAGES = words(
    """
    afrikaans albanian amharic arabic armenian azerbaijani basque belarusian bengali bosnian bulgarian burmese cantonese
    catalan chinese croatian czech danish dutch english estonian farsi persian filipino finnish flemish french gaelic
    galician
    georgian german greek gujarati hausa hebrew hindi hungarian icelandic igbo indonesian irish italian japanese kannada
    kazakh khmer korean kurdish kyrgyz lao latin latvian lithuanian luxembourgish macedonian malay malayalam maltese
    mandarin
    marathi mongolian nepali norwegian pashto polish portuguese punjabi romanian russian sanskrit serbian sinhala slovak
    slovene slovenian somali spanish swahili swedish tagalog tajik tamil tatar telugu thai tibetan turkish turkmen
    ukrainian
    urdu uzbek vietnamese welsh xhosa yiddish yoruba zulu esperanto bsl asl
    """
)

NATIONALITIES = words(
    """
    afghan albanian algerian american argentinian argentine armenian australian austrian azerbaijani bangladeshi
    belarusian
    belgian bolivian bosnian brazilian british bulgarian cambodian cameroonian canadian chilean chinese colombian
    croatian
    cuban cypriot czech danish dominican dutch ecuadorian egyptian english eritrean estonian ethiopian filipino finnish
    french
    georgian german ghanaian greek guatemalan haitian honduran hungarian icelandic indian indonesian iranian iraqi irish
    israeli italian jamaican japanese jordanian kazakh kenyan korean kosovan kurdish kuwaiti latvian lebanese libyan
    lithuanian macedonian malaysian maltese mexican moldovan mongolian montenegrin moroccan nepalese nepali nigerian
    norwegian
    pakistani palestinian peruvian polish portuguese qatari romanian russian rwandan saudi scottish senegalese serbian
    singaporean slovak slovenian somali spanish sudanese swedish swiss syrian taiwanese tanzanian thai tunisian turkish
    ugandan ukrainian uruguayan uzbek venezuelan vietnamese welsh yemeni zambian zimbabwean
    """
)

RELIGIONS = words(
    "christian catholic orthodox protestant muslim jewish hindu buddhist sikh atheist agnostic lutheran baptist"
)
