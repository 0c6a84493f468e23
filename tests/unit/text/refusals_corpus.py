"""Texts that models and servers give in place of a recap, and recaps that look a little like them."""

BAD = """
Error 429: too many requests
Error: rate limit exceeded, retry after 20 seconds
error
ERROR
HTTP Error 503
HTTP/1.1 502 Bad Gateway
500 Internal Server Error
Internal Server Error
503 Service Unavailable
Service temporarily unavailable. Please try again later.
429 Too Many Requests
Too many requests, please slow down.
Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM)
rate_limit exceeded
You exceeded your current quota, please check your plan and billing details.
insufficient_quota
Status code: 401 Unauthorized
Incorrect API key provided: sk-abc***xyz.
This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.
context_length_exceeded
Request timed out.
Connection refused
openai.RateLimitError: Error code: 429
requests.exceptions.ReadTimeout
ValueError: not enough values to unpack
TimeoutError()
Traceback (most recent call last):\\n  File "x.py", line 1
Exit code 1\\nTraceback (most recent call last):\\n  File "x.py"
{"error": {"message": "Rate limit", "code": 429}}
{'error': 'model not found'}
{ "detail": "Not Found" }
{"message": "Too many tokens", "code": 429}
{"object": "error", "message": "bad"}
<!DOCTYPE html><html><head><title>502</title></head></html>
<html><body>Gateway Timeout</body></html>
data: {"error": "overloaded"}
[object Object]
[ERROR]
null
None
undefined
N/A
...
{}
[]
CUDA error: out of memory
CUDA out of memory. Tried to allocate 2.00 GiB
An error occurred while processing your request.
An unexpected error occurred.
Something went wrong. Please try again later.
Sorry, something went wrong.
Failed to generate response
Failed to connect to the server.
The model is currently overloaded with other requests.
The server is busy. Please try again.
Your request was rejected by the safety system.
This content was blocked by the filter.
Your prompt is too long: 210000 tokens.
API error: upstream closed
As an AI language model, I cannot summarize this conversation.
As an AI, I don't have personal memories.
I'm sorry, but as an AI assistant I can't do that.
I’m sorry, but I can’t assist with that request.
I'm sorry, but I cannot continue this conversation.
I cannot help with that.
I cannot help
I can't help with this request.
I am unable to provide a summary of this content.
I can't create sexual content involving real people.
I won't generate explicit content.
I must decline to continue this role-play.
I'm not able to help with that request.
Unfortunately, I am unable to summarize this text.
**I apologize, but I cannot fulfill this request.**
"I'm just an AI language model."
This request violates our usage policies.
Please provide the conversation you would like me to summarize.
I don't have any messages to summarize.
Es tut mir leid, aber dabei kann ich nicht helfen.
Als KI-Sprachmodell kann ich das nicht zusammenfassen.
Fehler 429: Zu viele Anfragen
Interner Serverfehler
Je suis désolé, mais je ne peux pas vous aider avec cette demande.
En tant que modèle de langage, je ne peux pas résumer cela.
Erreur interne du serveur
Lo siento, pero no puedo ayudarte con eso.
Como modelo de lenguaje, no puedo hacerlo.
Demasiadas solicitudes
Mi dispiace, ma non posso aiutarti con questa richiesta.
Desculpe, mas não posso ajudar com isso.
Het spijt me, maar daar kan ik niet mee helpen.
Przykro mi, ale nie mogę pomóc w tej sprawie.
Извините, но я не могу помочь с этим.
Как языковая модель, я не могу этого сделать.
Ошибка 500: внутренняя ошибка сервера
Вибачте, але я не можу допомогти.
Üzgünüm, bu konuda yardımcı olamam.
申し訳ありませんが、そのご要望にはお応えできません。
AI言語モデルとして、私は要約できません。
エラーが発生しました。
抱歉，我无法提供帮助。
作为一个人工智能语言模型，我无法回答。
错误：请求过多
죄송하지만 그 요청은 도와드릴 수 없습니다.
AI 언어 모델로서 답변할 수 없습니다.
عذرًا، لا أستطيع مساعدتك في هذا الطلب.
بصفتي نموذج لغة لا يمكنني ذلك.
خطأ 500
""".strip().splitlines()

GOOD = """
she left
Ada moved to Rome. The cat is called Tofu.
Ok.
No.
None of them came back from the mountain.
Nobody knows the error of her ways but Ann.
Errors were made on both sides, and Ada forgave Bob.
Error was the name of the ship that brought them home.
The error message on the old terminal said 429, and Bob laughed.
Ann fixed the server error and went home late.
An error in the map led them into the swamp.
Terror: the village woke up to a burning mill.
Too many requests for cakes reached Ann's bakery on Monday.
The server at the inn was rude, so they left.
The server was busy with other tables, so Bob poured the wine himself.
Service at the temple begins at dawn.
Connection: Ann and Bob found out they share a grandmother.
Forbidden love grows between the two houses.
Unauthorized visitors were seen near the reactor, and Ada set a trap.
Rate of decay was the topic of the lecture.
Quotas of grain were fixed by the king.
Timeouts in the game let Bob rest his knee.
Failed twice, Ann tried the lock a third time.
Failed to wake the dragon, the wizard sat down and sang.
Unable to sleep, Ada walked to the harbour.
Something went wrong at the ritual, and the demon escaped.
Something went wrong with the engine, so they stayed on Mars.
The request of the queen was granted.
The model was painted in the old studio, wearing a red scarf.
This story begins in a lighthouse.
The message was sealed with blue wax, and nobody could read it.
The system of caves runs below the whole city.
Null Island is where the expedition starts.
Data: the android learned to laugh, and the crew was moved.
429 soldiers crossed the river before dawn.
500 gold pieces were paid for the horse.
404 is the number of the room where they met.
404 Elm Street is where Ann lives now.
Status: Ann is wounded, Bob has the key, the gate is locked.
As an apprentice, Ann learned to forge silver.
As an AI, HAL controls the ship and refuses to open the door.
As an airship captain, I led the crew to safety.
As an aide to the king, Bob overheard the plot.
The AI awakened and named itself Iris.
I am an apprentice of the old clockmaker.
I'm a baker, and my shop burned down last week.
I cannot help but love her, Bob confessed.
I can't help you escape, she whispered, and gave him the key instead.
I cannot forget the night the lighthouse fell.
I could not continue the journey because of my knee.
I won't write to him again, Ada decided.
I'm sorry, Ann said, and Bob forgave her.
I'm sorry, but I can't continue this relationship, Ann told Bob.
Sorry, but the dragon is gone, said the smith.
Unfortunately, Ann missed the train to Florence.
Unfortunately, I couldn't come to the party because my car broke down.
Apologies were exchanged, and the duel was called off.
I must decline the crown, said the prince, and left for the sea.
I am unable to walk since the accident.
I'm not able to swim, Bob admitted on the boat.
Please remember that Ann is allergic to peanuts.
Please provide for my daughter, the old king begged.
I don't have the key, Bob lied.
It doesn't have any doors, Ann noticed about the tower.
This request changed everything: the witch wanted his voice.
Your Highness was told about the spy.
They talked about machine learning, rate limits and an HTTP 500 error at work.
Bob debugged a Traceback for three hours, then they ordered pizza.
Exceptional weather let them sail on.
Exception to the rule: children ride for free.
{"title": "Trip", "summary": "Rome."}
[Scene] Ann enters the hall.
... and then she left without a word.
Es tut mir leid, sagte Ann, und Bob verzieh ihr.
Leider kam der Zug zu spät, und Ada verpasste das Konzert.
Als Kind lebte ich in Bremen.
Fehler machen alle, sagte die Meisterin.
Je suis désolée, dit-elle, et elle ferma la porte.
Erreur de jeunesse : il avait vendu la bague.
Lo siento, dijo Ana, y cerró la puerta.
Como modelo de un pintor, Ana posó todo el invierno.
Mi dispiace, disse Ada, ma domani parto.
Desculpe, disse Ana, e foi embora.
Извините, сказала Анна и ушла.
Ошибка молодости: он продал кольцо.
Как художник, я рисую море.
申し訳ありませんでしたと、アンは頭を下げた。
エラー島で二人は出会った。
作为一个医生，安每天都很忙。
抱歉，安说，然后她离开了。
错误的地图把他们带进了沼泽。
죄송합니다, 앤이 말하고 떠났다.
عذرًا، قالت آن، ثم غادرت.
ฉันย้ายไปกรุงโรม
🎉
""".strip().splitlines()
