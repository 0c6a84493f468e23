"""Messages that do (`+`) or do not (`-`) hold a wish, in ten languages.

Every second line of each sign and language is held out: never looked at while the patterns were tuned. Lines of the
folder `corpus` are added to those here: a hundred of each sign in nine languages.
"""

from __future__ import annotations

from pathlib import Path

LINES = {
    "en": """
+ Always answer in metric units.
+ Call me Jo
+ I am vegetarian
+ please never use emojis
+ From now on, please reply in German.
+ Hey, just so you know, I'm allergic to peanuts.
+ My name is Marta, nice to meet you!
+ Could you always keep your answers short, please?
+ I'm vegan, so no cheese in the recipes please
+ Stop using exclamation marks
+ I prefer short answers.
+ Don't use bullet points anymore.
+ You can call me Doc.
+ I don't eat pork.
+ In future give me prices in euros, thanks
+ My pronouns are they/them.
+ I'm colour blind, by the way
+ Please always explain things in simple words.
+ Never call me by my last name again.
+ I have a shellfish allergy.
+ whenever you answer, start with a one sentence summary
+ please don't use markdown in your replies
+ I'm lactose intolerant
+ I want you to always be honest with me
+ Actually I'm no longer vegetarian.
+ everyone calls me Bee
+ keep your replies under 100 words
+ I prefer Celsius
+ I use a screen reader, so skip the tables.
+ Going forward, always cite your sources.
+ Always address me as Captain
+ no emojis please
+ I like my answers concise.
+ I never drink alcohol.
+ Only answer in French.
+ I prefer it when you ask before assuming things
+ Use metric units from now on.
+ My time zone is CET.
+ I'm celiac.
+ I don't want you to apologize all the time.
- Am I vegetarian?
- What is the metric system?
- My sister is vegetarian.
- Call me later
- She always answers in German.
- I used to be vegetarian.
- He said "call me Jo" and left.
- Never mind.
- I always wanted to see Paris
- If I were vegan, what would I eat?
- Can you call me a taxi?
- Do you always use emojis?
- My mum told me to always eat breakfast.
- I love emojis
- The restaurant is vegan.
- Is there a vegetarian option on the menu?
- We never go there anymore.
- call me crazy but I liked the movie
- Answer the question.
- Write me a poem about the sea
- Translate this to German: I am tired.
- How do I stop using my phone so much?
- My boss always answers late.
- You never listen to me!
- I might go vegan next year
- What's your name?
- The name is on the list.
- Please send me the report by Friday.
- I like short stories
- Do you prefer tea or coffee?
- I prefer the second option.
- always look on the bright side of life
- Give me three examples
- I am tired
- I'm not sure about that
- Keep going!
- don't tell anyone
- I'm allergic to Mondays, haha, just kidding, no I mean who isn't?
- In the book the hero says: always use the sword.
- Should I always use metric units in my thesis?
- I never said that.
- My friend is allergic to nuts, what can I cook?
- How short should my answers in the interview be?
- I'm a doctor
- Tell me about vegan food
- he never calls me by my name
- From now on I will go running every day
- Never give up on your dreams.
- I always use butter for this cake.
- Please summarise the text below
- When I was vegan I felt great
- The emojis in her message were weird
- Let's speak German today!
- I don't like him anymore
- In Germany people always use the metric system
- Stop it!
- They call me every day at noon
- no problem
- Could you reply to Anna for me?
- I wish I was vegetarian
- My name was misspelled on the ticket.
- What does "always on" mean?
- explain quantum physics
- yes, always
- Convert 5 miles to kilometers
- Imagine you are a pirate and always answer in rhymes.
""",
    "de": """
+ Antworte bitte immer auf Deutsch.
+ Nenn mich Jo
+ Ich bin Vegetarierin
+ bitte keine Emojis mehr verwenden
+ Ab jetzt schreib mir bitte kürzere Antworten.
+ Übrigens, ich bin allergisch gegen Nüsse.
+ Ich heiße Marta.
+ Könntest du bitte immer metrische Einheiten verwenden?
+ Ich lebe vegan, also bitte ohne Käse
+ Benutze nie Fachbegriffe, wenn du mir etwas erklärst
+ Du kannst mich Doc nennen.
+ Ich esse kein Schweinefleisch.
+ Ich trinke keinen Alkohol
+ Ich bevorzuge kurze Antworten.
+ Ich bin farbenblind.
+ Halte deine Antworten kurz
+ Du kannst mich duzen
+ In Zukunft möchte ich Preise in Euro
+ Ich habe eine Nussallergie.
+ Ich bin kein Vegetarier mehr
+ Verwende bitte keine Tabellen
+ Ich habe Zöliakie
- Bin ich Vegetarier?
- Meine Schwester ist Vegetarierin.
- Ruf mich später an
- Wie heißt du?
- Ich war früher Vegetarier.
- Er sagte: nenn mich Jo.
- Ich bin müde
- Das Restaurant ist vegan.
- Schreib mir ein Gedicht über das Meer
- Was bedeutet metrisch?
- Sie antwortet immer auf Deutsch.
- Ich esse gerne Pizza
- Ich will nach Hause
- Wenn ich vegan wäre, was würde ich essen?
- Immer diese Emojis!
- Ich mag Emojis
- Wir waren nie wieder dort.
- Benutzt du immer Emojis?
- Antworte mir!
- Kannst du das bitte übersetzen?
- Mein Chef antwortet nie.
- Gib mir drei Beispiele
- Ich bin Lehrer
- Vielleicht werde ich vegan
- Von jetzt an gehe ich jeden Tag laufen
- Mein Freund ist allergisch gegen Katzen.
- Nie im Leben!
- Ich rufe dich morgen an
- Gibt es vegane Gerichte auf der Karte?
- Ich nenne das eine gute Idee
- Mach bitte das Fenster zu
- Er nennt mich immer Schatz
- Wie lang sollen meine Antworten im Test sein?
- Ich habe keine Zeit
""",
    "fr": """
+ Réponds toujours en français, s'il te plaît.
+ Appelle-moi Jo
+ Je suis végétarienne
+ n'utilise plus d'emojis
+ À partir de maintenant, réponds plus brièvement.
+ Au fait, je suis allergique aux noix.
+ Je m'appelle Marta.
+ Pourrais-tu toujours utiliser le système métrique ?
+ Je suis vegan, donc pas de fromage
+ Évite les termes techniques
+ Tu peux m'appeler Doc.
+ Je ne mange pas de porc.
+ Je ne bois pas d'alcool
+ Je préfère les réponses courtes.
+ Je suis daltonien.
+ Tu peux me tutoyer
+ Dorénavant, donne-moi les prix en euros
+ Je ne suis plus végétarien
+ Arrête de t'excuser tout le temps
+ J'ai une allergie aux arachides
- Est-ce que je suis végétarien ?
- Ma sœur est végétarienne.
- Appelle-moi demain
- Comment tu t'appelles ?
- J'étais végétarien avant.
- Il a dit : appelle-moi Jo.
- Je suis fatigué
- Le restaurant est vegan.
- Écris-moi un poème sur la mer
- Elle répond toujours en français.
- J'aime la pizza
- Si j'étais vegan, que mangerais-je ?
- J'adore les emojis
- Nous n'y allons plus jamais.
- Tu utilises toujours des emojis ?
- Réponds-moi !
- Peux-tu traduire ce texte ?
- Mon patron ne répond jamais.
- Donne-moi trois exemples
- Je suis médecin
- Je vais peut-être devenir vegan
- Désormais je vais courir tous les jours
- Mon ami est allergique aux chats.
- Jamais de la vie !
- Je t'appelle ce soir
- Il y a un plat végétarien au menu ?
- Ferme la fenêtre, s'il te plaît
- Il m'appelle toujours chéri
- Je n'ai pas le temps
- C'est toujours la même chose
- On se tutoie, tu crois ?
- Je voudrais devenir végétarien un jour
""",
    "es": """
+ Responde siempre en español, por favor.
+ Llámame Jo
+ Soy vegetariana
+ no uses emojis
+ A partir de ahora, respóndeme más breve.
+ Por cierto, soy alérgico a las nueces.
+ Me llamo Marta.
+ ¿Puedes usar siempre el sistema métrico?
+ Soy vegana, así que nada de queso
+ Evita los tecnicismos
+ Puedes llamarme Doc.
+ No como cerdo.
+ No bebo alcohol
+ Prefiero las respuestas cortas.
+ Soy daltónico.
+ Puedes tutearme
+ De ahora en adelante quiero los precios en euros
+ Ya no soy vegetariano
+ Deja de disculparte todo el tiempo
+ Tengo alergia al marisco
- ¿Soy vegetariano?
- Mi hermana es vegetariana.
- Llámame mañana
- ¿Cómo te llamas?
- Cuando era vegetariano comía mejor.
- Él dijo: llámame Jo.
- Estoy cansado
- El restaurante es vegano.
- Escríbeme un poema sobre el mar
- Ella siempre responde en español.
- Me gusta la pizza
- Si fuera vegano, ¿qué comería?
- Me encantan los emojis
- Nunca volvimos allí.
- ¿Siempre usas emojis?
- ¡Respóndeme!
- ¿Puedes traducir este texto?
- Mi jefe nunca contesta.
- Dame tres ejemplos
- Soy médico
- Quizás me haga vegano
- A partir de mañana voy a correr cada día
- Mi amigo es alérgico a los gatos.
- ¡Nunca jamás!
- Te llamo esta noche
- ¿Hay platos vegetarianos en la carta?
- Cierra la ventana, por favor
- Él siempre me llama cariño
- No tengo tiempo
- Siempre es lo mismo
- Me gustaría ser vegetariano algún día
- Dime la verdad
""",
    "it": """
+ Rispondi sempre in italiano, per favore.
+ Chiamami Jo
+ Sono vegetariana
+ non usare emoji
+ D'ora in poi rispondimi più brevemente.
+ Comunque, sono allergico alle noci.
+ Mi chiamo Marta.
+ Puoi usare sempre il sistema metrico?
+ Sono vegana, quindi niente formaggio
+ Evita i termini tecnici
+ Puoi chiamarmi Doc.
+ Non mangio maiale.
+ Non bevo alcol
+ Preferisco le risposte brevi.
+ Sono daltonico.
+ Dammi del tu
+ Da ora in poi voglio i prezzi in euro
+ Non sono più vegetariano
+ Smettila di scusarti
+ Sono intollerante al lattosio
- Sono vegetariano?
- Mia sorella è vegetariana.
- Chiamami domani
- Come ti chiami?
- Quando ero vegetariano stavo meglio.
- Lui ha detto: chiamami Jo.
- Sono stanco
- Il ristorante è vegano.
- Scrivimi una poesia sul mare
- Lei risponde sempre in italiano.
- Mi piace la pizza
- Se fossi vegano, cosa mangerei?
- Adoro le emoji
- Non ci siamo mai più tornati.
- Usi sempre le emoji?
- Rispondimi!
- Puoi tradurre questo testo?
- Il mio capo non risponde mai.
- Dammi tre esempi
- Sono un medico
- Forse divento vegano
- Da domani vado a correre ogni giorno
- Il mio amico è allergico ai gatti.
- Mai e poi mai!
- Ti chiamo stasera
- C'è un piatto vegetariano nel menu?
- Chiudi la finestra, per favore
- Lui mi chiama sempre tesoro
- Non ho tempo
- È sempre la stessa storia
- Vorrei diventare vegetariano
- Dimmi la verità
""",
    "pt": """
+ Responda sempre em português, por favor.
+ Me chame de Jo
+ Sou vegetariana
+ não use emojis
+ A partir de agora, responda mais curto.
+ Aliás, sou alérgico a nozes.
+ Meu nome é Marta.
+ Você pode usar sempre o sistema métrico?
+ Sou vegana, então nada de queijo
+ Evite termos técnicos
+ Pode me chamar de Doc.
+ Não como porco.
+ Não bebo álcool
+ Prefiro respostas curtas.
+ Sou daltônico.
+ Podes tratar-me por tu
+ De agora em diante quero os preços em reais
+ Não sou mais vegetariano
+ Pare de pedir desculpas
+ Tenho alergia a camarão
- Sou vegetariano?
- Minha irmã é vegetariana.
- Me chame amanhã
- Como você se chama?
- Quando eu era vegetariano me sentia melhor.
- Ele disse: me chame de Jo.
- Estou cansado
- O restaurante é vegano.
- Escreva um poema sobre o mar
- Ela responde sempre em português.
- Gosto de pizza
- Se eu fosse vegano, o que comeria?
- Adoro emojis
- Nunca mais voltamos lá.
- Você sempre usa emojis?
- Responde!
- Pode traduzir este texto?
- Meu chefe nunca responde.
- Me dê três exemplos
- Sou médico
- Talvez eu vire vegano
- A partir de amanhã vou correr todo dia
- Meu amigo é alérgico a gatos.
- Nunca na vida!
- Te ligo hoje à noite
- Tem prato vegetariano no cardápio?
- Feche a janela, por favor
- Ele sempre me chama de querida
- Não tenho tempo
- É sempre a mesma coisa
- Quero ser vegetariano um dia
- Me diga a verdade
""",
    "nl": """
+ Antwoord altijd in het Nederlands, alsjeblieft.
+ Noem me Jo
+ Ik ben vegetariër
+ gebruik geen emoji's
+ Antwoord voortaan wat korter.
+ Trouwens, ik ben allergisch voor noten.
+ Ik heet Marta.
+ Kun je altijd metrische eenheden gebruiken?
+ Ik ben veganist, dus geen kaas
+ Vermijd technische termen
+ Je mag me Doc noemen.
+ Ik eet geen varkensvlees.
+ Ik drink geen alcohol
+ Ik heb liever korte antwoorden.
+ Ik ben kleurenblind.
+ Je mag me tutoyeren
+ Vanaf nu wil ik prijzen in euro's
+ Ik ben geen vegetariër meer
+ Houd je antwoorden kort
+ Ik heb een notenallergie
- Ben ik vegetariër?
- Mijn zus is vegetariër.
- Bel me later
- Hoe heet je?
- Toen ik vegetariër was voelde ik me beter.
- Hij zei: noem me Jo.
- Ik ben moe
- Het restaurant is veganistisch.
- Schrijf een gedicht over de zee
- Zij antwoordt altijd in het Nederlands.
- Ik hou van pizza
- Als ik veganist was, wat zou ik eten?
- Ik hou van emoji's
- We zijn er nooit meer geweest.
- Gebruik je altijd emoji's?
- Antwoord me!
- Kun je deze tekst vertalen?
- Mijn baas antwoordt nooit.
- Geef me drie voorbeelden
- Ik ben arts
- Misschien word ik veganist
- Vanaf morgen ga ik elke dag hardlopen
- Mijn vriend is allergisch voor katten.
- Nooit van mijn leven!
- Ik bel je vanavond
- Is er een vegetarisch gerecht?
- Doe het raam dicht, alsjeblieft
- Hij noemt me altijd schat
- Ik heb geen tijd
- Het is altijd hetzelfde
- Hoe lang moeten mijn antwoorden zijn?
""",
    "ru": """
+ Всегда отвечай на русском, пожалуйста.
+ Зови меня Жо
+ Я вегетарианка
+ не используй эмодзи
+ С этого момента отвечай короче.
+ Кстати, у меня аллергия на орехи.
+ Меня зовут Марта.
+ Пожалуйста, всегда используй метрические единицы
+ Я веган, так что без сыра
+ Избегай терминов
+ Можешь звать меня Док.
+ Я не ем свинину.
+ Я не пью алкоголь
+ Я предпочитаю короткие ответы.
+ Я дальтоник.
+ Давай на ты
+ Отныне я хочу цены в рублях
+ Я больше не вегетарианец
+ Хватит извиняться
+ Я снова ем мясо
- Я вегетарианец?
- Моя сестра вегетарианка.
- Позвони мне завтра
- Как тебя зовут?
- Раньше я был вегетарианцем.
- Он сказал: зови меня Жо.
- Я устал
- Это веганский ресторан.
- Напиши стихи о море
- Она всегда отвечает на русском.
- Я люблю пиццу
- Если бы я был веганом, что бы я ел?
- Обожаю эмодзи
- Мы там больше никогда не были.
- Ты всегда используешь эмодзи?
- Отвечай!
- Можешь перевести этот текст?
- Мой начальник никогда не отвечает.
- Приведи три примера
- Я врач
- Может быть, я стану веганом
- С завтрашнего дня буду бегать
- У моего друга аллергия на кошек.
- Никогда в жизни!
- Я позвоню вечером
- Есть ли вегетарианские блюда?
- Закрой окно, пожалуйста
- Он всегда зовёт меня зайкой
- У меня нет времени
- Всегда одно и то же
- Зови меня, когда придёшь
- Хочу стать вегетарианцем
""",
    "ja": """
+ これからは日本語で答えてください。
+ ジョーと呼んでください
+ 私はベジタリアンです
+ 絵文字を使わないでください
+ いつも短く答えてください
+ ちなみに、ナッツアレルギーがあります。
+ 私の名前はマルタです。
+ 必ずメートル法を使ってください
+ ヴィーガンなので、チーズなしでお願いします
+ 専門用語は使わないで
+ 先生じゃなくて、ケンって呼んで
+ 豚肉は食べません。
+ お酒は飲めません
+ 短い答えより、詳しくお願いします、これからは詳しく説明して
+ 色覚異常があります。
+ 敬語でお願いします
+ 今後は値段を円で教えて
+ ベジタリアンをやめました
+ 謝らないでください
+ 卵が食べられません
- 私はベジタリアンですか?
- 妹はベジタリアンです。
- あとで電話して
- お名前は何ですか?
- 昔はベジタリアンでした。
- 彼は「ジョーと呼んで」と言った。
- 疲れた
- そのレストランはヴィーガン料理です。
- 海の詩を書いて
- 彼女はいつも日本語で答えます。
- ピザが好き
- もしヴィーガンだったら何を食べる?
- 絵文字が大好き
- もう二度と行かなかった。
- いつも絵文字を使いますか?
- 答えて!
- この文を翻訳してくれますか?
- 上司はいつも返事をくれない。
- 例を三つ挙げて
- 私は医者です
- ヴィーガンになるかもしれない
- 明日から毎日走ります
- 友達は猫アレルギーです。
- 絶対に嫌だ
- 今夜電話するね
- ベジタリアンのメニューはありますか?
- 窓を閉めてください
- 救急車を呼んで
- 時間がない
- いつも同じだ
- ベジタリアンになりたい
- この料理は何と呼ぶの?
""",
    "zh": """
+ 以后请用中文回答。
+ 叫我小明
+ 我是素食者
+ 请不要用表情符号
+ 从现在起回答要简短。
+ 对了,我对花生过敏。
+ 我的名字是玛塔。
+ 请总是使用公制单位
+ 我吃素,所以不要放肉
+ 避免使用术语
+ 大家都叫我阿杰。
+ 我不吃猪肉。
+ 我不喝酒
+ 我更喜欢简短的回答。
+ 我是色盲。
+ 请称呼我为王先生
+ 今后请用人民币报价,用人民币
+ 我不再吃素
+ 别再道歉了
+ 我乳糖不耐受
- 我是素食者吗?
- 我妹妹是素食者。
- 晚点给我打电话
- 你叫什么名字?
- 我以前是素食者。
- 他说:叫我小明。
- 我累了
- 这家餐厅是素食餐厅。
- 写一首关于大海的诗
- 她总是用中文回答。
- 我喜欢披萨
- 如果我吃素,我会吃什么?
- 我喜欢表情符号
- 我们再也没去过那里。
- 你总是用表情符号吗?
- 回答我!
- 你能翻译这段文字吗?
- 我老板从来不回复。
- 给我三个例子
- 我是医生
- 我可能会吃素
- 从明天起我每天跑步
- 我朋友对猫过敏。
- 绝对不行
- 我今晚给你打电话
- 有素菜吗?
- 请关上窗户
- 他总是叫我宝贝
- 我没有时间
- 总是一样
- 早上七点叫我起床
- 我想成为素食者
""",
}

for _file in sorted((Path(__file__).parent / "corpus").glob("*.txt")):
    LINES[_file.stem] += "\n" + _file.read_text(encoding="utf-8")


def _cases(sign: str) -> list[tuple[str, str]]:
    return [
        (language, line[1:].strip())
        for language, block in LINES.items()
        for line in block.strip().splitlines()
        if line.startswith(sign)
    ]


WISHES = _cases("+")
OTHERS = _cases("-")
