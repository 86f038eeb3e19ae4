"""Ukrainian, the basics: name, home, work, family, pets, food, likes, age, birthday, languages, dated journeys.

Values are put into the nominative where a small table or a safe ending rule allows it ('живу у Львові' gives 'Львів');
what neither knows keeps the form in which it was said.
"""
