"""Words that WhatsApp writes in place of what a text file cannot hold, in the languages it is used in."""

from __future__ import annotations

import re


def _words(text: str) -> tuple[str, ...]:
    """Return the words of a list that are set apart by strokes."""
    return tuple(word.strip() for word in text.split("|"))


_OMITTED = _words("""
media omitted | image omitted | video omitted | audio omitted | sticker omitted | gif omitted |
document omitted | contact card omitted | voice message omitted | video note omitted |
view once voice message omitted | medien ausgeschlossen | bild weggelassen | video weggelassen |
audio weggelassen | sticker weggelassen | gif weggelassen | dokument weggelassen | kontaktkarte weggelassen |
sprachnachricht weggelassen | videonachricht weggelassen | multimedia omitido | imagen omitida |
imagen omitido | video omitido | audio omitido | sticker omitido | gif omitido | documento omitido |
tarjeta de contacto omitida | se omitió el archivo multimedia | archivo omitido | médias omis | media omis |
fichier omis | image absente | image omise | vidéo absente | vidéo omise | audio omis | audio absent |
sticker omis | sticker absent | gif omis | gif retiré | gif absent | document omis | document manquant |
fiche contact omise | carte contact omise | médias exclus | media omessi | media omesso | immagine omessa |
video omesso | audio omesso | sticker omesso | sticker non incluso | gif esclusa | gif omessa |
documento omesso | scheda contatto omessa | mídia oculta | arquivo de mídia oculto | mídia omitida |
imagem ocultada | imagem omitida | imagem oculta | vídeo omitido | vídeo oculto | vídeo ocultado |
áudio ocultado | áudio omitido | áudio oculto | figurinha omitida | figurinha oculta |
cartão do contato omitido | ficheiro não revelado | ficheiros não revelados | ficheiro omitido |
media weggelaten | afbeelding weggelaten | foto weggelaten | audio weggelaten | contactkaart weggelaten |
document weggelaten | spraakbericht weggelaten | без медиафайлов | файл пропущен | медиафайл пропущен |
изображение отсутствует | изображение пропущено | видео отсутствует | видео пропущено | аудиофайл отсутствует |
аудиофайл пропущен | аудио пропущено | стикер отсутствует | стикер пропущен | gif отсутствует | gif пропущено |
gif пропущен | документ отсутствует | документ пропущен | карточка контакта пропущена | medya dahil edilmedi |
görüntü dahil edilmedi | resim dahil edilmedi | video dahil edilmedi | ses dahil edilmedi |
çıkartma dahil edilmedi | gif dahil edilmedi | belge dahil edilmedi | kişi kartı dahil edilmedi |
pominięto multimedia | multimedia pominięte | media pominięto | pominięto obraz | obraz został pominięty |
obraz pominięty | wideo pominięte | film został pominięty | audio pominięte | naklejka pominięta |
gif pominięty | dokument pominięty | plik pominięty | pominięto plik multimedialny |
メディアは含まれていません | メディアなし | メディア省略 | メディアファイルは省略されました |
画像は含まれていません | 画像が省略されました | 動画は含まれていません | 動画が省略されました |
ビデオは含まれていません | 音声は含まれていません | 音声が省略されました | ステッカーは含まれていません |
スタンプは含まれていません | gifは含まれていません | 文書は含まれていません | ドキュメントは含まれていません |
미디어 파일을 제외한 채팅 | 미디어 파일 제외 | 미디어 제외 | 사진 읽지 않음 | 사진 생략됨 | 동영상 생략됨 |
오디오 생략됨 | 스티커 생략됨 | 이미지 생략됨 | 문서 생략됨 | 미디어 생략됨 | 사진 제외됨 | 동영상 제외됨 |
媒体文件已省略 | 省略多媒体文件 | 已忽略多媒体文件 | 忽略多媒体文件 | 媒体已忽略 | 图像已忽略 | 图片已忽略 |
视频已忽略 | 音频已忽略 | 贴图已忽略 | 文件已忽略 | 忽略媒体 | 略過多媒體檔 | 省略多媒體檔案 |
已略過多媒體檔案 | 已忽略圖片 | 圖片已略過 | 影片已略過 | 音訊已略過 | 貼圖已略過 | 忽略影像 | 影像已略去 |
媒體已略去 | 不包含媒體 | تم استبعاد الوسائط | الوسائط غير مدرجة | تم حذف الوسائط | الوسائط المستبعدة |
وسائط محذوفة | صورة غير مدرجة | تم استبعاد الصورة | تم استبعاد الفيديو | تم استبعاد الصوت | تم استبعاد الملصق |
فيديو غير مدرج | صوت غير مدرج | ملصق غير مدرج | مستند غير مدرج | मीडिया के बिना | मीडिया छोड़ा गया |
मीडिया हटाया गया | मीडिया शामिल नहीं है | चित्र छोड़ा गया | चित्र शामिल नहीं है | वीडियो छोड़ा गया |
ऑडियो छोड़ा गया | स्टिकर छोड़ा गया | मीडिया छोड़ दिया गया | छवि छोड़ी गई | media tidak disertakan |
gambar tidak disertakan | video tidak disertakan | audio tidak disertakan | stiker tidak disertakan |
gif tidak disertakan | dokumen tidak disertakan | המדיה לא נכללה | מדיה לא נכללה | התמונה הושמטה |
הסרטון הושמט | השמע הושמט | הסטיקר הושמט | תמונה הושמטה | média vynechána | médium vynecháno |
média vynechaná | obrázek vynechán | mediafil utelämnad | media har utelämnats | bild utelämnad |
mediefil utelukket | medier utelukket | medier utelatt | medier udeladt | billede udeladt |
media jätettiin pois | kuva jätetty pois | hiányzó médiafájl | média eltávolítva | kép kihagyva |
fișier media omis | conținut media omis | imagine omisă | медіафайл пропущено | медіафайли пропущено |
без медіафайлів | зображення пропущено | παραλείφθηκαν πολυμέσα | τα πολυμέσα παραλείφθηκαν |
εικόνα παραλείφθηκε | tệp media bị bỏ qua | đã bỏ qua media | media diabaikan | สื่อถูกละไว้ | ไม่รวมสื่อ |
رسانه حذف شده | رسانه حذف شد
""")
OMITTED = frozenset(word.casefold() for word in _OMITTED)

_ATTACHED = _words("""
file attached | datei angehängt | archivo adjunto | fichier joint | file allegato | arquivo anexado |
ficheiro anexado | bestand bijgevoegd | файл добавлен | прикреплённый файл | dosya ekli | dosya eklendi |
plik załączony | załączono plik | załączony plik | ファイル添付 | 添付ファイル | 파일 첨부됨 | 파일 첨부 |
文件附件 | 附件 | 檔案已附加 | ملف مرفق | फ़ाइल संलग्न है | फ़ाइल संलग्न | file terlampir | lampiran file |
קובץ מצורף | soubor připojen | fil bifogad | vedlagt fil | fil vedhæftet | tiedosto liitetty | fájl csatolva |
fișier atașat | файл додано | συνημμένο αρχείο
""")
ATTACHED = re.compile(
    rf"(?P<name>\S[^\n/\\<>:]{{0,255}}\.\w{{2,5}}) \((?:{'|'.join(map(re.escape, _ATTACHED))})\)", re.IGNORECASE
)
"""Android: the name of a file, then that it is attached."""
_ATTACHED_HERE = _words("""
attached | anhang | angehängt | adjunto | pièce jointe | fichier joint | allegato | anexado | anexo |
bijgevoegd | bijlage | прикреплено | вложение | ek | eklendi | załączono | załącznik | 添付ファイル | 添付 |
첨부됨 | 첨부 | 附件 | 已附加 | 附加 | مرفق | المرفق | संलग्न | terlampir | מצורף | připojeno | bifogad |
bifogat | vedlagt | vedhæftet | liite | csatolva | atașat | вкладено | συνημμένο
""")
ATTACHED_HERE = re.compile(
    rf"\u200e?<\u200e?(?:{'|'.join(map(re.escape, _ATTACHED_HERE))})\s?[:：]\s?(?P<name>[^<>\n]+)>", re.IGNORECASE
)
"""iOS: <attached: name>."""

_EDITED = _words("""
this message was edited | diese nachricht wurde bearbeitet | se editó este mensaje | este mensaje fue editado |
mensaje editado | ce message a été modifié | questo messaggio è stato modificato | mensagem editada |
esta mensagem foi editada | dit bericht is bewerkt | сообщение изменено | данное сообщение изменено |
это сообщение было изменено | bu mesaj düzenlendi | ta wiadomość została edytowana | wiadomość edytowana |
edytowano tę wiadomość | このメッセージは編集されました | 이 메시지는 수정되었습니다 |
메시지가 수정되었습니다 | 此消息已编辑 | 此消息已被编辑 | 此訊息已編輯 | 這則訊息已編輯 |
تم تعديل هذه الرسالة | यह संदेश संपादित किया गया था | इस मैसेज में बदलाव किया गया | pesan ini diedit |
pesan ini telah diedit | ההודעה נערכה | הודעה זו נערכה
""")
EDITED = re.compile(rf"(?<!\s)\s*\u200e?<\u200e?(?:{'|'.join(map(re.escape, _EDITED))})\.?>\s*\Z", re.IGNORECASE)

_DELETED = _words("""
this message was deleted | you deleted this message | this message was deleted by admin |
diese nachricht wurde gelöscht | du hast diese nachricht gelöscht | se eliminó este mensaje |
este mensaje fue eliminado | eliminaste este mensaje | ce message a été supprimé |
vous avez supprimé ce message | questo messaggio è stato eliminato | hai eliminato questo messaggio |
mensagem apagada | esta mensagem foi apagada | você apagou esta mensagem | essa mensagem foi apagada |
apagou esta mensagem | dit bericht is verwijderd | je hebt dit bericht verwijderd |
u hebt dit bericht verwijderd | данное сообщение удалено | это сообщение удалено |
вы удалили данное сообщение | вы удалили это сообщение | bu mesaj silindi | bu mesajı sildiniz |
ta wiadomość została usunięta | usunięto tę wiadomość | wiadomość usunięta | usunąłeś tę wiadomość |
このメッセージは削除されました | このメッセージを削除しました | 삭제된 메시지입니다 |
이 메시지는 삭제되었습니다 | 이 메시지를 삭제했습니다 | 此消息已删除 | 此消息已被删除 | 你删除了此消息 |
您删除了这条消息 | 此訊息已刪除 | 你已刪除此訊息 | 您已刪除此訊息 | تم حذف هذه الرسالة | لقد حذفت هذه الرسالة |
حذفت هذه الرسالة | यह संदेश हटा दिया गया था | यह मैसेज मिटाया गया | आपने यह संदेश हटा दिया |
आपने यह मैसेज मिटा दिया | pesan ini telah dihapus | pesan ini dihapus | anda menghapus pesan ini |
anda telah menghapus pesan ini | ההודעה נמחקה | הודעה זו נמחקה | מחקת הודעה זו
""")
DELETED = frozenset(word.casefold() for word in _DELETED)

AM = _words("""
am | a.m | a.m. | a. m. | a m | 上午 | 凌晨 | 早上 | 午前 | 오전 | ص | صباحًا | صباحا | π.μ. | πμ | पूर्वाह्न |
de. | öö | sa | dop. | vm. | ก่อนเที่ยง | ق.ظ. | ق.ظ | fm | f.m. | e paradites | ap. | ip. | πμ. | पू | 清晨
""")
PM = _words("""
pm | p.m | p.m. | p. m. | p m | 下午 | 晚上 | 中午 | 午後 | 오후 | م | مساءً | مساء | μ.μ. | μμ | अपराह्न |
du. | ös | ch | odp. | nm. | หลังเที่ยง | ب.ظ. | ب.ظ | em | e.m. | e pasdites | 傍晚
""")

_NAMED = _words("""
whatsapp chat with | whatsapp chat - | whatsapp chat | whatsapp-chat mit | whatsapp-chat met | chat de whatsapp con |
chat whatsapp con | chat di whatsapp con | discussion whatsapp avec | conversa do whatsapp com | conversa com |
czat whatsapp z | чат whatsapp с | whatsapp ile sohbet | whatsappのトーク | whatsapp 대화 | whatsapp 聊天
""")
CHAT_NAMES = re.compile(rf"(?:{'|'.join(re.escape(name) for name in _NAMED)})(?:\s+|\s*[-–:_]\s*)(?=\S)", re.IGNORECASE)
"""What the name of an exported file begins with, before the name of the chat."""
