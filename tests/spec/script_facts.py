"""Facts planted among small talk, in twelve languages and in emoji, with a question about each of them.

What people say and what they ask later differ as they do in real talk: another case, another ending, an article or a
preposition grown onto the word. The small talk is made of three lists a language, every combination once.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple


class Talk(NamedTuple):
    """One language."""

    facts: tuple[tuple[str, str], ...]
    """What was said, and what is asked."""
    openings: str
    middles: str
    ends: str
    joint: str = " "

    @property
    def chatter(self) -> list[str]:
        """Return the small talk."""
        parts = (text.split("|") for text in (self.openings, self.middles, self.ends))
        return [self.joint.join(part.strip() for part in said) for said in product(*parts)]


def _facts(text: str) -> tuple[tuple[str, str], ...]:
    pairs = (line.split(" | ") for line in text.strip().splitlines())
    return tuple((said.strip(), asked.strip()) for said, asked in pairs)


TALKS = {
    "en": Talk(
        _facts("""
My sister adopted two hedgehogs in spring | Which animals does my sister have? hedgehog maybe?
The wifi code of the cabin is hanging behind the mirror | Where did we put the cabin's wifi code?
Grandpa repaired an old accordion for the festival | Who was repairing accordions?
I am learning to bake sourdough with rye flour | What kind of bread am I baking with rye?
Our neighbour paints lighthouses on wooden plates | What does the neighbour paint? lighthouse?
The dentist found a crack in my upper molar | What was wrong with my molars?
We planted three apricot trees behind the barn | How many apricot trees did we plant?
My cousin dives for sponges near Kalymnos | Who dives for a sponge?
The violin teacher moved to a lighthouse keeper's cottage | Where did my violin teacher move?
I lost my grandmother's amber necklace at the opera | What happened with the amber necklaces?
"""),
        "Today|Yesterday|On Monday|After lunch|In the evening|This week|Again",
        "we talked about|I thought of|she asked about|they wrote about|my friend mentioned|he complained about|"
        "we laughed about",
        "the weather|the bus|the new film|our homework|the football match|dinner|the old shop",
    ),
    "de": Talk(
        _facts("""
Meine Schwester hat im Frühling zwei Igel aufgenommen | Was macht meine Schwester mit den Igeln?
Der WLAN-Code der Hütte hängt hinter dem Spiegel | Wo hängt der Code der Hütten?
Opa hat ein altes Akkordeon für das Fest repariert | Wer repariert Akkordeons?
Ich lerne gerade, Sauerteigbrot mit Roggenmehl zu backen | Welche Brote backe ich mit Roggenmehl?
Unsere Nachbarin malt Leuchttürme auf Holzteller | Wer malt einen Leuchtturm?
Der Zahnarzt hat einen Riss in meinem Backenzahn gefunden | Was war mit den Backenzähnen?
Wir haben drei Aprikosenbäume hinter der Scheune gepflanzt | Wo steht der Aprikosenbaum?
Mein Cousin taucht bei Kalymnos nach Schwämmen | Wer taucht nach einem Schwamm?
Die Geigenlehrerin ist in ein Häuschen am Hafen gezogen | Wohin sind die Geigenlehrerinnen gezogen?
Ich habe Omas Bernsteinkette in der Oper verloren | Wo sind die Bernsteinketten geblieben?
"""),
        "Heute|Gestern|Am Montag|Nach dem Essen|Am Abend|Diese Woche|Wieder",
        "sprachen wir über|dachte ich an|fragte sie nach|schrieben sie über|erwähnte mein Freund|klagte er über|"
        "lachten wir über",
        "das Wetter|den Bus|den neuen Film|die Hausaufgaben|das Fußballspiel|das Abendessen|den alten Laden",
    ),
    "cs": Talk(
        _facts("""
Moje sestra si na jaře pořídila dva ježky | Kdo má doma ježka?
Heslo k wifi na chalupě visí za zrcadlem | Kde visí hesla na chalupě?
Děda opravil starý akordeon na slavnost | Kdo opravoval akordeony?
Učím se péct kváskový chléb z žitné mouky | Z jaké mouky peču žitný chléb?
Naše sousedka maluje majáky na dřevěné talíře | Kdo maluje maják na talíř?
Zubařka našla prasklinu v mé stoličce | Co bylo se stoličkou?
Za stodolou jsme zasadili tři meruňky | Kde roste naše meruňka?
Můj bratranec se potápí pro mořské houby u Kalymnosu | Kdo se potápí pro mořskou houbu?
Učitelka houslí se přestěhovala do domku v přístavu | Kam se odstěhovala učitelka na housle v přístav?
Ztratila jsem babiččin jantarový náhrdelník v opeře | Kde jsou jantarové náhrdelníky?
"""),
        "Dnes|Včera|V pondělí|Po obědě|Večer|Tento týden|Zase",
        "jsme mluvili o|jsem myslel na|se ptala na|psali o|kamarád zmínil|si stěžoval na|jsme se smáli",
        "počasí|autobus|nový film|úkoly|fotbalový zápas|večeře|starý obchod",
    ),
    "ru": Talk(
        _facts("""
Моя сестра весной приютила двух ежей | У кого живёт ёж? ежи?
Пароль от вайфая на даче висит за зеркалом | Где висят пароли на даче?
Дедушка починил старый аккордеон к празднику | Кто чинил аккордеоны?
Я учусь печь хлеб на закваске из ржаной муки | Какой хлеб я пеку на ржаную закваску?
Наша соседка рисует маяки на деревянных тарелках | Кто рисует маяк на тарелке?
Стоматолог нашёл трещину в моём зубе мудрости | Что за трещина у зуба?
Мы посадили три абрикоса за сараем | Где растёт абрикос?
Мой двоюродный брат ныряет за губками у Калимноса | Кто ныряет за губкой?
Учительница скрипки переехала в домик у гавани | Куда переехала учительница по скрипке?
Я потеряла бабушкино янтарное ожерелье в опере | Где янтарные ожерелья?
"""),
        "Сегодня|Вчера|В понедельник|После обеда|Вечером|На этой неделе|Опять",
        "мы говорили про|я думал про|она спросила про|они писали про|друг вспомнил про|он жаловался на|мы смеялись над",
        "погоду|автобус|новый фильм|уроки|футбольный матч|ужин|старый магазин",
    ),
    "el": Talk(
        _facts("""
Η αδερφή μου υιοθέτησε δύο σκαντζόχοιρους την άνοιξη | Ποιος έχει σκαντζόχοιρο;
Ο κωδικός του καλυβιού κρέμεται πίσω από τον καθρέφτη | Πού είναι οι κωδικοί για το καλύβι;
Ο παππούς επισκεύασε ένα παλιό ακορντεόν για τη γιορτή | Ποιος επισκευάζει ακορντεόν για γιορτές;
Μαθαίνω να ψήνω προζυμένιο ψωμί με αλεύρι σίκαλης | Τι ψωμιά ψήνω με σίκαλη;
Η γειτόνισσα ζωγραφίζει φάρους σε ξύλινα πιάτα | Ποια ζωγράφιζε έναν φάρο σε πιάτο;
Ο οδοντίατρος βρήκε μια ρωγμή στον τραπεζίτη μου | Τι ρωγμές βρήκαν οι οδοντίατροι;
Φυτέψαμε τρεις βερικοκιές πίσω από τον αχυρώνα | Πού είναι η βερικοκιά;
Ο ξάδερφός μου βουτάει για σφουγγάρια κοντά στην Κάλυμνο | Ποιος βουτάει για σφουγγάρι;
Η δασκάλα του βιολιού μετακόμισε σε ένα σπιτάκι στο λιμάνι | Πού μένει η δασκάλα για βιολί, σε ποιο λιμάνι;
Έχασα το κεχριμπαρένιο περιδέραιο της γιαγιάς στην όπερα | Πού χάθηκαν τα κεχριμπαρένια περιδέραια;
"""),
        "Σήμερα|Χθες|Τη Δευτέρα|Μετά το φαγητό|Το βράδυ|Αυτή την εβδομάδα|Πάλι",
        "μιλήσαμε για|σκέφτηκα|ρώτησε για|έγραψαν για|ο φίλος μου ανέφερε|παραπονέθηκε για|γελάσαμε με",
        "τον καιρό|το λεωφορείο|την καινούργια ταινία|τα μαθήματα|τον αγώνα|το βραδινό|το παλιό μαγαζί",
    ),
    "ar": Talk(
        _facts("""
أختي تبنت قنفذين في الربيع | هل عند أختي القنفذ؟ قنافذ؟ تبنت ماذا؟
كلمة سر الكوخ معلقة خلف المرآة | أين كلمة السر للكوخ؟
جدي أصلح أكورديونا قديما للمهرجان | من أصلح الأكورديون؟
أتعلم خبز العجين المخمر بدقيق الشعير | ماذا أخبز بالشعير؟
جارتنا ترسم المنارات على صحون خشبية | من رسمت منارة على الصحون؟
طبيب الأسنان وجد شرخا في ضرسي | ما مشكلة الضرس؟ شرخ؟
زرعنا ثلاث أشجار مشمش خلف الحظيرة | أين المشمش؟
ابن عمي يغوص لجمع الإسفنج قرب الجزيرة | من يجمع إسفنجا؟
معلمة الكمان انتقلت إلى بيت صغير في الميناء | أين انتقلت معلمة كمان؟
أضعت قلادة العنبر لجدتي في الأوبرا | أين القلادة من عنبر؟
"""),
        "اليوم|أمس|يوم الاثنين|بعد الغداء|في المساء|هذا الأسبوع|مرة أخرى",
        "تحدثنا عن|فكرت في|سألت عن|كتبوا عن|ذكر صديقي|اشتكى من|ضحكنا على",
        "الطقس|الحافلة|الفيلم الجديد|الواجبات|المباراة|العشاء|الدكان القديم",
    ),
    "he": Talk(
        _facts("""
אחותי אימצה שני קיפודים באביב | למי יש קיפוד?
הסיסמה של הבקתה תלויה מאחורי המראה | איפה סיסמת הבקתות? במראה?
סבא תיקן אקורדיון ישן לחגיגה | מי תיקן את האקורדיון?
אני לומד לאפות לחם מחמצת עם קמח שיפון | איזה לחם אפיתי מהשיפון?
השכנה מציירת מגדלורים על צלחות עץ | מי ציירה מגדלור?
רופא השיניים מצא סדק בשן הטוחנת שלי | מה היה הסדק בטוחנת?
שתלנו שלושה עצי משמש מאחורי האסם | איפה המשמש שלנו?
בן הדוד שלי צולל לספוגים ליד האי | מי צולל בשביל ספוג?
המורה לכינור עברה לבית קטן בנמל | לאן עברה המורה של הכינור?
איבדתי את שרשרת הענבר של סבתא באופרה | איפה השרשרת מענבר?
"""),
        "היום|אתמול|ביום שני|אחרי הארוחה|בערב|השבוע|שוב",
        "דיברנו על|חשבתי על|היא שאלה על|הם כתבו על|חבר שלי הזכיר את|הוא התלונן על|צחקנו על",
        "מזג האוויר|האוטובוס|הסרט החדש|שיעורי הבית|המשחק|העוגה|החנות הישנה",
    ),
    "hi": Talk(
        _facts("""
मेरी बहन ने वसंत में दो कछुए गोद लिए | बहन के पास कौन सा कछुआ है?
झोपड़ी का वाईफाई कोड आईने के पीछे टंगा है | झोपड़ियों का कोड कहाँ है?
दादाजी ने त्योहार के लिए पुराना हारमोनियम ठीक किया | हारमोनियमों को किसने ठीक किया?
मैं राई के आटे से खमीरी रोटी बनाना सीख रहा हूँ | राई की रोटियाँ कौन बना रहा है?
हमारी पड़ोसन लकड़ी की थालियों पर मीनारें बनाती है | पड़ोसन किस पर मीनार बनाती है?
डॉक्टर को मेरी दाढ़ में दरार मिली | मेरी दाढ़ों में क्या मिला?
हमने खलिहान के पीछे तीन खुबानी के पेड़ लगाए | खुबानियाँ कहाँ लगाईं?
मेरा चचेरा भाई समुद्र में मोती खोजता है | मोतियों को कौन खोजता है?
वायलिन की अध्यापिका बंदरगाह के घर में रहने लगी | वायलिन वाली अध्यापिकाएँ कहाँ रहती हैं?
मैंने नानी का अंबर का हार नाटकघर में खो दिया | अंबर वाले हारों का क्या हुआ?
"""),
        "आज|कल|सोमवार को|खाने के बाद|शाम को|इस हफ्ते|फिर से",
        "हमने बात की|मैंने सोचा|उसने पूछा|उन्होंने लिखा|दोस्त ने बताया|वह नाराज़ था|हम हँसे",
        "मौसम पर|बस पर|नई फ़िल्म पर|गृहकार्य पर|मैच पर|चाय पर|पुरानी दुकान पर",
    ),
    "zh": Talk(
        _facts("""
我妹妹春天收养了两只刺猬 | 谁养了刺猬?
小木屋的密码挂在镜子后面 | 木屋密码在哪里?
爷爷为庆典修好了一台旧手风琴 | 谁修的手风琴?
我在学用黑麦粉烤酸面包 | 我用黑麦做什么面包?
邻居在木盘上画灯塔 | 谁喜欢画灯塔?
牙医发现我的臼齿有裂缝 | 我的臼齿怎么了?
我们在谷仓后面种了三棵杏树 | 杏树种在哪里?
我表哥在岛边潜水采海绵 | 谁去采海绵?
小提琴老师搬到了港口的小屋 | 小提琴老师搬去哪里了?
我在歌剧院弄丢了奶奶的琥珀项链 | 琥珀项链在哪里丢的?
"""),
        "今天|昨天|周一|午饭后|晚上|这周|又一次",
        "我们聊了|我想到了|她问起了|他们写了|朋友提到了|他抱怨了|我们笑话了",
        "天气|公交车|新电影|作业|足球比赛|晚饭|旧商店",
        "",
    ),
    "ja": Talk(
        _facts("""
妹が春にハリネズミを二匹引き取った | 誰がハリネズミを飼っている?
山小屋の暗証番号は鏡の裏に掛けてある | 山小屋の暗証番号はどこ?
祖父がお祭りのために古いアコーディオンを直した | アコーディオンを直したのは誰?
ライ麦粉でサワーブレッドを焼く練習をしている | ライ麦で何を焼いている?
隣の人は木の皿に灯台を描く | 灯台の絵を描くのは誰?
歯医者が奥歯にひびを見つけた | 奥歯はどうだった?
納屋の裏に杏の木を三本植えた | 杏の木はどこに植えた?
いとこは島の近くで海綿を採るために潜る | 海綿を採るのは誰?
バイオリンの先生が港の小さな家に引っ越した | バイオリンの先生はどこに引っ越した?
祖母の琥珀の首飾りをオペラ座でなくした | 琥珀の首飾りをどこでなくした?
"""),
        "今日|昨日|月曜に|昼食後に|夜に|今週|また",
        "私たちは話した、|僕は考えた、|彼女が聞いた、|みんなが書いた、|友達が言った、|彼が文句を言った、|みんなで笑った、",
        "天気のこと|バスのこと|新しい映画のこと|宿題のこと|サッカーの試合のこと|夕飯のこと|古い店のこと",
        "",
    ),
    "ko": Talk(
        _facts("""
여동생이 봄에 고슴도치를 두 마리 입양했어 | 누가 고슴도치는 키워?
오두막의 비밀번호는 거울 뒤에 걸려 있어 | 오두막에서 비밀번호가 어디 있지?
할아버지가 축제를 위해 낡은 아코디언을 고쳤어 | 아코디언은 누가 고쳤지?
나는 호밀가루로 발효빵을 굽는 법을 배우고 있어 | 호밀가루가 들어간 빵은?
이웃 아주머니는 나무 접시에 등대를 그려 | 등대는 누가 그려?
치과에서 내 어금니에 금이 간 것을 발견했어 | 어금니는 왜 그랬지?
우리는 헛간 뒤에 살구나무를 세 그루 심었어 | 살구나무가 어디에 있지?
사촌이 섬 근처에서 해면을 캐려고 잠수해 | 해면은 누가 캐?
바이올린 선생님이 항구의 작은 집으로 이사했어 | 바이올린을 가르치던 선생님이 어디로 갔어?
나는 오페라 극장에서 할머니의 호박목걸이를 잃어버렸어 | 호박목걸이가 어디 갔지?
"""),
        "오늘|어제|월요일에|점심 뒤에|저녁에|이번 주|또",
        "우리는 이야기했어|나는 생각했어|그녀가 물었어|그들이 썼어|친구가 말했어|그가 불평했어|우리는 웃었어",
        "날씨 때문에|버스 때문에|새 영화 때문에|숙제 때문에|축구 경기 때문에|밥 때문에|옛 가게 때문에",
    ),
    "th": Talk(
        _facts("""
น้องสาวรับเลี้ยงเม่นสองตัวตอนฤดูใบไม้ผลิ | ใครเลี้ยงเม่น
รหัสไวไฟของกระท่อมแขวนอยู่หลังกระจก | รหัสของกระท่อมอยู่ที่ไหน
คุณปู่ซ่อมหีบเพลงเก่าสำหรับงานเทศกาล | ใครซ่อมหีบเพลง
ฉันกำลังหัดอบขนมปังเปรี้ยวด้วยแป้งข้าวไรย์ | ฉันอบขนมปังด้วยแป้งข้าวไรย์แบบไหน
เพื่อนบ้านวาดประภาคารบนจานไม้ | ใครวาดประภาคาร
หมอฟันเจอรอยร้าวที่ฟันกรามของฉัน | ฟันกรามเป็นอะไร
เราปลูกต้นแอปริคอตสามต้นหลังโรงนา | ต้นแอปริคอตอยู่ที่ไหน
ลูกพี่ลูกน้องดำน้ำเก็บฟองน้ำใกล้เกาะ | ใครดำน้ำเก็บฟองน้ำ
ครูสอนไวโอลินย้ายไปบ้านเล็กที่ท่าเรือ | ครูไวโอลินย้ายไปไหน
ฉันทำสร้อยอำพันของคุณย่าหายที่โรงโอเปร่า | สร้อยอำพันหายที่ไหน
"""),
        "วันนี้|เมื่อวาน|วันจันทร์|หลังอาหาร|ตอนเย็น|สัปดาห์นี้|อีกครั้ง",
        "เราคุยเรื่อง|ฉันคิดเรื่อง|เธอถามเรื่อง|พวกเขาเขียนเรื่อง|เพื่อนพูดเรื่อง|เขาบ่นเรื่อง|เราหัวเราะเรื่อง",
        "อากาศ|รถเมล์|หนังใหม่|การบ้าน|ฟุตบอล|มื้อเย็น|ร้านเก่า",
        "",
    ),
    "emoji": Talk(
        _facts("""
🦔🏡 | 🦔
🔑🪞 | 🪞
🪗🎉 | 🪗
🥖🌾 | 🌾
🗼🎨 | 🗼
🦷😖 | 🦷
🍑🌳 | 🍑
🧽🌊 | 🧽
🎻⚓ | 🎻
📿🎭 | 📿
"""),
        "😀|😂|😍|😎|🤔|😴|🙃",
        "👍|👋|🙏|💪|👏|🤝|✌",
        "☀|🚌|🎬|📚|⚽|🍝|🏪",
    ),
}

HELD_OUT = {
    "en": _facts("""
The plumber left his ladder in our cellar | Whose ladders are in the cellar?
Mara knitted striped mittens for the twins | Who was knitting mittens?
The old ferry sinks a little every winter | Which ferries are sinking?
I keep my stamps in a biscuit tin | Where is my stamp collection kept?
"""),
    "de": _facts("""
Der Klempner hat seine Leiter in unserem Keller vergessen | Wem gehören die Leitern im Keller?
Mara hat gestreifte Handschuhe für die Zwillinge gestrickt | Wer strickt Handschuhe?
Das alte Boot ist voller Muscheln | Wo gibt es Boote mit Muschel?
Ich bewahre meine Briefmarken in einer Keksdose auf | Wo ist die Briefmarke?
"""),
    "cs": _facts("""
Instalatér zapomněl žebřík v našem sklepě | Čí žebříky jsou ve sklepě?
Mara upletla pruhované rukavice pro dvojčata | Kdo má pletené rukavičky, rukavic?
Stará loď je plná mušlí | Na které lodi jsou mušle?
Známky schovávám v plechovce od sušenek | Kde je moje známka?
"""),
    "ru": _facts("""
Сантехник забыл лестницу в нашем подвале | Чья лестница стоит в подвал?
Мара связала полосатые варежки для близнецов | Кому достались варежек пары?
Старая лодка вся в ракушках | На какой лодке ракушки?
Марки я храню в жестянке из-под печенья | Где лежит моя марка?
"""),
    "el": _facts("""
Ο υδραυλικός ξέχασε τη σκάλα στο υπόγειό μας | Ποιανού είναι οι σκάλες;
Η Μάρα έπλεξε ριγέ γάντια για τα δίδυμα | Ποιος πλέκει γάντι για τα δίδυμα;
Η παλιά βάρκα είναι γεμάτη μύδια | Ποιες βάρκες έχουν μύδια;
Φυλάω τα γραμματόσημα σε κουτί μπισκότων | Πού είναι το γραμματόσημο;
"""),
    "ar": _facts("""
السباك نسي السلم في القبو | لمن سلم القبو؟
حاكت مارا قفازات مخططة للتوأم | من عنده القفاز المخطط؟
القارب القديم مليء بالمحار | أين المحار؟
أحفظ الطوابع في علبة البسكويت | أين طوابعي؟
"""),
    "he": _facts("""
השרברב שכח את הסולם במרתף | של מי סולם?
מארה סרגה כפפות מפוספסות לתאומים | מי סרג את הכפפות?
הסירה הישנה מלאה צדפות | באיזו סירה יש צדפה?
אני שומר בולים בקופסת עוגיות | איפה הבולים?
"""),
    "hi": _facts("""
नलसाज़ अपनी सीढ़ी हमारे तहखाने में भूल गया | सीढ़ियाँ किसकी हैं?
मारा ने जुड़वाँ बच्चों के लिए धारीदार दस्ताने बुने | दस्तानों को किसने बुना?
पुरानी नाव सीपियों से भरी है | किस नाव में सीपी है?
मैं डाक टिकट बिस्कुट के डिब्बे में रखता हूँ | टिकटों का डिब्बा कहाँ है?
"""),
    "ko": _facts("""
배관공이 사다리를 지하실에 두고 갔어 | 사다리는 누구 거야?
마라가 쌍둥이를 위해 줄무늬 장갑을 떴어 | 장갑은 누가 떴지?
낡은 나룻배에 조개가 가득해 | 나룻배에는 뭐가 있지?
나는 우표를 과자통에 보관해 | 우표가 어디 있지?
"""),
}
"""More of them, written after the rules and never looked at while these were tuned."""
