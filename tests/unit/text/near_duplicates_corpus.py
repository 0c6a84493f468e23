"""Pairs of texts that do (`=`) or do not (`!`) say nearly the same, in twelve languages.

Every second line of each kind is held out: written down before the rule, never looked at while it was tuned.
"""

# ruff: noqa: E501 - a pair stands on one line

from __future__ import annotations

LINES = """
= I like green tea | I really like green tea!
= I like green tea | i like green tea.
= My sister is called Ada and lives in Rome | My sister is called Ada, and she lives in Rome... no, My sister is called Ada and lives in Rome
= My cat is called Tofu | my cat's called Tofu
= I moved to Berlin last summer | I moved to Berlin last sumer
= Please remember that my birthday is on May 7 | remember that my birthday is on May 7 please
= We are going to the beach on Saturday | So we are going to the beach on Saturday :)
= Tomorrow I have a dentist appointment | I have a dentist appointment tomorrow
= The recipe needs two eggs and some butter | The recipie needs two eggs and some butter
= I am allergic to peanuts | I'm allergic to peanuts
= I am allergic to peanuts | Hey, I'm allergic to peanuts, ok?
= Our meeting was moved to the conference room upstairs | Our meetings was moved to the conference room upstairs
= My brother works as a carpenter in Leeds | my brother works as a carpenter in leeds!!!
= I started learning the violin a month ago | I started learning violin a month ago
= The doctor said that I should drink more water | Doctor said I should drink more water
= We adopted a puppy called Biscuit yesterday | we adopted a pupy called Biscuit yesterday
= He finally finished writing his novel about the sea | He finaly finished writing his novel about the sea
= Her favourite painter is Frida Kahlo | Her favorite painter is Frida Kahlo
= Working from home makes me lonely sometimes | Sometimes working from home makes me lonely
= The wifi password is on the fridge | the WiFi password is on the fridge
= Thanks! The train leaves from platform nine | The train leaves from platform nine, thanks
= I painted the kitchen yellow | I've painted the kitchen yellow
= My grandmother taught me how to knit sweaters | My grandmother taught me how to knit a sweater
= The landlord raised our rent again this year | The landlord has raised our rent again this year
= Running every morning helps me to sleep | Running every mornning helps me to sleep
= Ich mag grünen Tee | ich mag grünen Tee!
= Ich mag grünen Tee sehr | Ich mag wirklich sehr grünen Tee
= Meine Schwester heißt Ada und wohnt in Rom | meine schwester heisst Ada und wohnt in Rom
= Morgen habe ich einen Termin beim Zahnarzt | Ich habe morgen einen Termin beim Zahnarzt
= Wir haben letzte Woche einen Hund adoptiert | wir haben letzte Woche einen Hund adoptirt
= Der Vermieter hat schon wieder die Miete erhöht | Der Vermieter hat die Miete schon wieder erhöht
= Ich bin gegen Erdnüsse allergisch | Ach ja, ich bin gegen Erdnüsse allergisch
= Mein Bruder arbeitet als Tischler in Leipzig | mein bruder arbeitet als Tischler in Leipzig.
= Das Passwort steht auf dem Kühlschrank | Das Passwort steht auf dem Kuehlschrank
= J'aime le thé vert | j'aime beaucoup, euh, j'aime le thé vert
= J'aime le thé vert | J'aime le the vert !
= Ma sœur s'appelle Ada et habite à Rome | Ma sœur s'appelle Ada, elle habite à Rome
= Je suis allergique aux arachides | je suis vraiment allergique aux arachides
= Nous avons adopté un chien la semaine dernière | nous avons adopte un chien la semaine derniere
= Mon frère travaille comme menuisier à Lyon | Mon frère travaille comme menusier à Lyon
= Demain j'ai rendez-vous chez le dentiste | J'ai rendez-vous chez le dentiste demain
= Me gusta el té verde | me gusta mucho el té verde
= Mi hermana se llama Ada y vive en Roma | mi hermana se llama ada y vive en roma
= Soy alérgico a los cacahuetes | Hola, soy alérgico a los cacahuetes
= Mañana tengo cita con el dentista | manana tengo cita con el dentista
= Adoptamos un perro la semana pasada | Adoptamos un perro la semana pasada, la verdad, adoptamos un perro
= Mi abuela me enseñó a tejer | Mi abuela me enseño a tejer
= Mi piace il tè verde | mi piace molto il tè verde
= Mia sorella si chiama Ada e vive a Roma | Mia sorella si chiama Ada, e vive a Roma!
= Sono allergico alle arachidi | sono allergico alle aracchidi
= Domani ho un appuntamento dal dentista | Ho un appuntamento dal dentista domani
= Abbiamo adottato un cane la settimana scorsa | La settimana scorsa abbiamo adottato un cane
= Eu gosto de chá verde | eu gosto muito de chá verde
= Minha irmã se chama Ada e mora em Roma | minha irma se chama Ada e mora em Roma
= Sou alérgico a amendoim | Sou alergico a amendoim, obrigado
= Amanhã tenho consulta no dentista | Tenho consulta no dentista amanhã
= Ik hou van groene thee | Ik hou echt van groene thee
= Mijn zus heet Ada en woont in Rome | mijn zus heet Ada en ze woont in Rome, mijn zus heet Ada
= Ik ben allergisch voor pinda's | Hoi, ik ben allergisch voor pinda's
= Morgen heb ik een afspraak bij de tandarts | Ik heb morgen een afspraak bij de tandarts
= Я люблю зелёный чай | я очень люблю зеленый чай
= Мою сестру зовут Ада, она живёт в Риме | мою сестру зовут Ада, и она живет в Риме
= У меня аллергия на арахис | Привет, у меня аллергия на арахис!
= Завтра у меня приём у зубного врача | У меня завтра приём у зубного врача
= Мы взяли щенка на прошлой неделе | мы взяли щенка на прошлой недели
= Мой брат работает плотником в Казани | мой брат работает плотником в казани.
= 緑茶が好きです | 緑茶がとても好きです
= 緑茶が好きです | 緑茶が好き
= 妹の名前はアダで、ローマに住んでいます | 妹の名前はアダで、ローマに住んでいます!
= 明日歯医者に行きます | 明日、歯医者に行きますよ
= ピーナッツアレルギーがあります | ピーナッツのアレルギーがあります
= 先週子犬を飼い始めました | 先週、子犬を飼い始めましたね
= 我喜欢绿茶 | 我很喜欢绿茶
= 我妹妹叫艾达,住在罗马 | 我的妹妹叫艾达,住在罗马。
= 我对花生过敏 | 我对花生过敏啊
= 明天我要去看牙医 | 明天我要去看牙医呢!
= 上周我们收养了一只小狗 | 上周我们收养一只小狗了
= 저는 녹차를 좋아해요 | 저는 녹차를 정말 좋아해요
= 제 여동생 이름은 아다이고 로마에 살아요 | 제 여동생 이름은 아다이고, 로마에 살아요!
= 저는 땅콩 알레르기가 있어요 | 저는 땅콩 알레르기 있어요
= 내일 치과에 가요 | 내일은 치과에 가요
= Μου αρέσει το πράσινο τσάι | μου αρεσει πολύ το πράσινο τσάι
= Η αδερφή μου λέγεται Άντα και μένει στη Ρώμη | Η αδερφή μου λέγεται Άντα, μένει στη Ρώμη
= Έχω αλλεργία στα φιστίκια | εχω αλλεργια στα φιστικια
= أنا أحب الشاي الأخضر | أنا أحب الشاي الأخضر جدا
= أختي اسمها آدا وتعيش في روما | أختي اسمها آدا وتعيش في روما!
= عندي حساسية من الفول السوداني | مرحبا، عندي حساسية من الفول السوداني
= אני אוהב תה ירוק | אני מאוד אוהב תה ירוק
= לאחותי קוראים עדה והיא גרה ברומא | לאחותי קוראים עדה, היא גרה ברומא
= मुझे हरी चाय पसंद है | मुझे हरी चाय बहुत पसंद है
= मेरी बहन का नाम अदा है और वह रोम में रहती है | मेरी बहन का नाम अदा है, वह रोम में रहती है
= 🎉🎉🎉 | 🎉🎉🎉
= The quarterly report covers sales, hiring, the new office in Porto and the plans for next spring, and it was sent to everybody on the team | The quarterly report covers sales, hiring, the new office in Porto, and plans for next spring; it was sent to everybody on the team
= When we visited the museum the children loved the dinosaur hall and the tiny cafe behind the garden | When we visited the museum, the children really loved the dinosaur hall and the tiny café behind the garden
= I spent the whole weekend repairing the old bicycle of my grandfather | Spent the whole weekend repairing the old bicycle of my grandfather
= She got promoted to head of marketing and will lead nine people | She got promoted to head of marketing and she will lead nine people
= The concert was amazing, the drummer played a ten minute solo | the concert was amazing!! the drummer played a ten minute solo
= He sold his motorcycle to pay for the wedding | He sold his motorcyle to pay for the wedding
= We watched a documentary about octopuses | We watched a documentary about octopus
! I like green tea | I like black tea
! I like green tea | I don't like green tea
! I like green tea | You like green tea
! My sister is called Ada | My sister is called Eva
! My sister is called Ada | My brother is called Ada
! The train leaves at 5 | The train leaves at 6
! The train leaves at 5:15 | The train leaves at 5:45
! I moved to Rome | I moved from Rome
! Ann called Ben | Ben called Ann
! Is the shop open? | Why is the shop open?
! I bought two tickets for the concert | I bought three tickets for the concert
! The meeting is on Monday | The meeting is on Tuesday
! I was born in 1986 | I was born in 1968
! My dog likes carrots | My dog hates carrots
! We always eat at seven | We never eat at seven
! I like tea | I like tea and coffee
! He is my brother | He is my brother's boss
! The room costs 80 euros | The room costs 90 euros
! I met Clara in Paris | I met Laura in Paris
! I work at a bank | I work at a bakery
! What is your name? | What is my name?
! She plays the piano | She plays the violin
! I will come tomorrow | I will come yesterday
! The cat is in the garden | The car is in the garden
! I had pasta for lunch | I had pasta for dinner
! Ok | No
! yes | yes, but only if you come with me to the station
! My flight is at noon on Friday from Gate 12 | My flight is at noon on Friday from Gate 21
! I can swim | I cannot swim
! Turn left after the church | Turn right after the church
! Our son was born in spring | Our daughter was born in spring
! The red car is faster | The blue car is faster
! I would like to visit Japan | I would like to visit Peru
! Meet me before the show | Meet me after the show
! Ich mag grünen Tee | Ich mag schwarzen Tee
! Ich mag Tee | Ich mag keinen Tee
! Meine Schwester heißt Ada | Meine Schwester heißt Eva
! Der Zug fährt um 5 | Der Zug fährt um 6
! Ich wohne in Bremen | Ich wohne in Berlin
! Wir treffen uns am Montag | Wir treffen uns am Mittwoch
! Mein Bruder ist Lehrer | Mein Bruder ist Bäcker
! Ich bin nicht müde | Ich bin müde
! Der Hund schläft | Der Hund bellt
! J'aime le thé vert | J'aime le thé noir
! J'aime le thé | Je n'aime pas le thé
! Ma sœur s'appelle Ada | Ma sœur s'appelle Eva
! Le train part à 5 heures | Le train part à 6 heures
! J'habite à Lyon | J'habite à Lille
! Mon frère est médecin | Mon frère est boulanger
! Me gusta el té verde | Me gusta el té negro
! Me gusta el té | No me gusta el té
! Mi hermana se llama Ada | Mi hermana se llama Eva
! El tren sale a las 5 | El tren sale a las 6
! Vivo en Sevilla | Vivo en Madrid
! Mi hermano es médico | Mi hermano es panadero
! Mi piace il tè verde | Mi piace il tè nero
! Mi piace il tè | Non mi piace il tè
! Il treno parte alle 5 | Il treno parte alle 6
! Vivo a Torino | Vivo a Milano
! Mia sorella è medico | Mia sorella è avvocato
! Eu gosto de chá verde | Eu gosto de chá preto
! Eu gosto de chá | Eu não gosto de chá
! O trem sai às 5 | O trem sai às 6
! Moro em Lisboa | Moro em Braga
! Ik hou van groene thee | Ik hou van zwarte thee
! Ik hou van thee | Ik hou niet van thee
! De trein gaat om 5 uur | De trein gaat om 6 uur
! Ik woon in Utrecht | Ik woon in Leiden
! Я люблю зелёный чай | Я люблю чёрный чай
! Я люблю чай | Я не люблю чай
! Поезд уходит в 5 часов | Поезд уходит в 6 часов
! Я живу в Казани | Я живу в Москве
! Мою сестру зовут Ада | Мою сестру зовут Ева
! Мой брат врач | Моя сестра врач
! 緑茶が好きです | 紅茶が好きです
! 緑茶が好きです | 緑茶が好きではありません
! 妹の名前はアダです | 妹の名前はエバです
! 電車は5時に出ます | 電車は6時に出ます
! 大阪に住んでいます | 京都に住んでいます
! 犬を飼っています | 猫を飼っています
! 月曜日に会いましょう | 火曜日に会いましょう
! 我喜欢绿茶 | 我喜欢红茶
! 我喜欢绿茶 | 我不喜欢绿茶
! 我妹妹叫艾达 | 我弟弟叫艾达
! 火车五点开 | 火车六点开
! 我住在上海 | 我住在北京
! 我喜欢你 | 你喜欢我
! 저는 녹차를 좋아해요 | 저는 홍차를 좋아해요
! 저는 녹차를 좋아해요 | 저는 녹차를 안 좋아해요
! 기차는 5시에 떠나요 | 기차는 6시에 떠나요
! 저는 부산에 살아요 | 저는 서울에 살아요
! Μου αρέσει το πράσινο τσάι | Μου αρέσει το μαύρο τσάι
! Μένω στην Πάτρα | Μένω στην Αθήνα
! Μου αρέσει το τσάι | Δεν μου αρέσει το τσάι
! أنا أحب الشاي الأخضر | أنا أحب الشاي الأسود
! أنا أحب الشاي | أنا لا أحب الشاي
! אני אוהב תה ירוק | אני אוהב תה שחור
! אני אוהב תה | אני לא אוהב תה
! मुझे हरी चाय पसंद है | मुझे काली चाय पसंद है
! मुझे चाय पसंद है | मुझे चाय पसंद नहीं है
! 🎉 | 😢
! I spent the whole weekend repairing the old bicycle of my grandfather | I spent the whole weekend riding the old bicycle of my grandfather
! The quarterly report covers sales, hiring and the new office in Porto | The quarterly report covers sales, hiring and the new office in Lagos
! She got promoted to head of marketing and will lead nine people | She got promoted to head of marketing and will lead four people
! He sold his motorcycle to pay for the wedding | He sold his guitar to pay for the wedding
! We watched a documentary about octopuses | We watched a documentary about volcanoes
! When we visited the museum the children loved the dinosaur hall | When we visited the museum the children hated the dinosaur hall
"""

_PAIRS = [(line[0] == "=", *(part.strip() for part in line[1:].split(" | "))) for line in LINES.strip().splitlines()]
SAME = [(first, second) for same, first, second in _PAIRS if same]
OTHER = [(first, second) for same, first, second in _PAIRS if not same]
