/* language.c - see language.h. */
#include "language.h"

#include <string.h>
#include <unistr.h>

enum {
    LEAST_LETTERS = 4, /* of a text in a script of its own that is recognised */
    LEAST_WORDS = 2,   /* function words of a text in Latin script that is recognised */
};

// clang-format off
const struct language_texts language_texts[N_LANGUAGES] = {
    [LANGUAGE_UNKNOWN] = {
        .function_words = "",
        .request = "Summarize our conversation so far in a few short sentences, in the language it was held in. Keep every name, number, date and decision exactly as it was said, and add nothing that was not said.",
        .frame = {"(What was said earlier in this conversation:\n", "\n)"},
        .person = "User: ", .answerer = "Assistant: "},
    [LANGUAGE_ENGLISH] = {
        .function_words = "i the of and to in is it you live that was for are with his they at be this have from or had by but what some we can were all your when how there their which would about has will if him my her me do don't i'm it's as on so not an am a",
        .request = "Summarize our conversation so far in a few short sentences. Keep every name, number, date and decision exactly as it was said, and add nothing that was not said.",
        .frame = {"(What was said earlier in this conversation:\n", "\n)"},
        .person = "User: ", .answerer = "Assistant: "},
    [LANGUAGE_CHINESE] = {
        .function_words = "",
        .request = "请用几句简短的话总结我们到目前为止的对话。人名、数字、日期和决定都要原样保留，不要添加没有说过的内容。",
        .frame = {"（此前对话的要点：\n", "\n）"},
        .person = "用户：", .answerer = "助手："},
    [LANGUAGE_JAPANESE] = {
        .function_words = "",
        .request = "これまでの会話を日本語で数文に短くまとめてください。名前、数字、日付、決めたことはそのまま残し、言われていないことは加えないでください。",
        .frame = {"（これまでの会話の要点：\n", "\n）"},
        .person = "ユーザー：", .answerer = "アシスタント："},
    [LANGUAGE_KOREAN] = {
        .function_words = "",
        .request = "지금까지의 대화를 한국어로 몇 문장으로 짧게 요약해 주세요. 이름, 숫자, 날짜, 결정은 말한 그대로 남기고 말하지 않은 것은 덧붙이지 마세요.",
        .frame = {"(지금까지 대화의 요점:\n", "\n)"},
        .person = "사용자: ", .answerer = "도우미: "},
    [LANGUAGE_RUSSIAN] = {
        .function_words = "и в не на что с я как это по но а к у вы мы он она они мне меня для из от о так же ещё или есть быть был была мой моя",
        .request = "Кратко, в нескольких предложениях, изложи по-русски наш разговор до этого места. Сохрани все имена, числа, даты и решения точно так, как они были сказаны, и не добавляй ничего, о чём не говорилось.",
        .frame = {"(Что было сказано ранее в этом разговоре:\n", "\n)"},
        .person = "Пользователь: ", .answerer = "Ассистент: "},
    [LANGUAGE_UKRAINIAN] = {
        .function_words = "і в не на що з я як це по але а до у ви ми він вона вони мені мене для від про так ще або є бути був була мій моя та",
        .request = "Стисло, кількома реченнями, виклади українською нашу розмову до цього місця. Збережи всі імена, числа, дати й рішення точно так, як їх було сказано, і не додавай нічого, про що не йшлося.",
        .frame = {"(Що було сказано раніше в цій розмові:\n", "\n)"},
        .person = "Користувач: ", .answerer = "Асистент: "},
    [LANGUAGE_ARABIC] = {
        .function_words = "",
        .request = "لخّص محادثتنا حتى الآن بالعربية في بضع جمل قصيرة. احتفظ بكل اسم ورقم وتاريخ وقرار كما قيل تمامًا، ولا تضف شيئًا لم يُقَل.",
        .frame = {"(ما قيل سابقًا في هذه المحادثة:\n", "\n)"},
        .person = "المستخدم: ", .answerer = "المساعد: "},
    [LANGUAGE_PORTUGUESE] = {
        .function_words = "o os as um uma de do da dos das em no na nos nas para com não que é são por mais mas como eu você ele ela meu minha seu sua se ao à está foi tem isso isto quando também muito qual quero moro",
        .request = "Resuma em português, em poucas frases curtas, a nossa conversa até aqui. Mantenha cada nome, número, data e decisão exatamente como foi dito, e não acrescente nada que não foi dito.",
        .frame = {"(O que foi dito antes nesta conversa:\n", "\n)"},
        .person = "Usuário: ", .answerer = "Assistente: "},
    [LANGUAGE_SPANISH] = {
        .function_words = "el la los las un una de del en y que es son por para con no más pero como yo tú usted él ella mi su se al está fue tiene esto eso cuando también muy qué cuál hay quiero vivo",
        .request = "Resume en español, en unas pocas frases cortas, nuestra conversación hasta aquí. Conserva cada nombre, número, fecha y decisión exactamente como se dijo, y no añadas nada que no se haya dicho.",
        .frame = {"(Lo que se dijo antes en esta conversación:\n", "\n)"},
        .person = "Usuario: ", .answerer = "Asistente: "},
    [LANGUAGE_FRENCH] = {
        .function_words = "le la les un une des de du en et que qui est sont pour avec ne pas plus mais comme je tu il elle nous vous mon ma mes son sa se au aux dans sur c'est j'ai a été cela quand aussi très quel quelle y",
        .request = "Résume en français, en quelques phrases courtes, notre conversation jusqu'ici. Garde chaque nom, nombre, date et décision exactement comme ils ont été dits, et n'ajoute rien qui n'ait été dit.",
        .frame = {"(Ce qui a été dit plus tôt dans cette conversation :\n", "\n)"},
        .person = "Utilisateur : ", .answerer = "Assistant : "},
    [LANGUAGE_GERMAN] = {
        .function_words = "der die das den dem des ein eine einen einem und in zu ist sind war mit für auf von nicht auch aber wie ich du er sie es wir ihr mein meine sein sich im am an aus bei nach wenn noch sehr was welche habe hat",
        .request = "Fasse unser bisheriges Gespräch auf Deutsch in wenigen kurzen Sätzen zusammen. Behalte jeden Namen, jede Zahl, jedes Datum und jede Entscheidung genau so, wie sie gesagt wurden, und füge nichts hinzu, was nicht gesagt wurde.",
        .frame = {"(Was in diesem Gespräch bisher gesagt wurde:\n", "\n)"},
        .person = "Nutzer: ", .answerer = "Assistent: "},
    [LANGUAGE_ITALIAN] = {
        .function_words = "il lo la i gli le un una di del della dei in e che è sono per con non più ma come io tu lui lei mio mia suo sua si al alla nel nella sul questo quello quando anche molto quale ho ha c'è",
        .request = "Riassumi in italiano, in poche frasi brevi, la nostra conversazione fino a qui. Conserva ogni nome, numero, data e decisione esattamente come è stato detto, e non aggiungere nulla che non sia stato detto.",
        .frame = {"(Ciò che è stato detto prima in questa conversazione:\n", "\n)"},
        .person = "Utente: ", .answerer = "Assistente: "},
    [LANGUAGE_DUTCH] = {
        .function_words = "de het een van en in te is zijn was met voor op niet ook maar hoe ik je jij u hij zij ze we wij mijn jouw dat dit die er aan uit bij naar als nog heel wat welke heb heeft wil",
        .request = "Vat ons gesprek tot nu toe in het Nederlands samen in een paar korte zinnen. Behoud elke naam, elk getal, elke datum en elke beslissing precies zoals het gezegd is, en voeg niets toe dat niet gezegd is.",
        .frame = {"(Wat eerder in dit gesprek is gezegd:\n", "\n)"},
        .person = "Gebruiker: ", .answerer = "Assistent: "},
    [LANGUAGE_POLISH] = {
        .function_words = "i w na z nie się to jest są do że o jak ale a po dla od za ja ty on ona my wy mój moja jego jej ma był była co czy tak też tylko już przy oraz mam mnie mi",
        .request = "Streść po polsku w kilku krótkich zdaniach naszą dotychczasową rozmowę. Zachowaj każde imię, liczbę, datę i decyzję dokładnie tak, jak zostały podane, i nie dodawaj niczego, co nie padło.",
        .frame = {"(Co zostało wcześniej powiedziane w tej rozmowie:\n", "\n)"},
        .person = "Użytkownik: ", .answerer = "Asystent: "},
    [LANGUAGE_TURKISH] = {
        .function_words = "ve bir bu da de için ile ne çok ama gibi ben sen o biz siz benim senin var yok mi mı mu mü daha en olarak olan şu nasıl hangi değil ki kadar sonra",
        .request = "Buraya kadarki konuşmamızı Türkçe olarak birkaç kısa cümleyle özetle. Her adı, sayıyı, tarihi ve kararı aynen söylendiği gibi koru ve söylenmeyen hiçbir şey ekleme.",
        .frame = {"(Bu konuşmada daha önce söylenenler:\n", "\n)"},
        .person = "Kullanıcı: ", .answerer = "Asistan: "},
};
// clang-format on

/* ---- scripts ---- */

struct counts { /* letters of a text by script */
    size_t latin, han, kana, hangul, cyrillic, ukrainian, arabic;
};

static const struct {
    ucs4_t first, last;
    size_t offset; /* of the count */
} scripts[] = {
    {'A', 'Z', offsetof(struct counts, latin)},         {'a', 'z', offsetof(struct counts, latin)},
    {0xc0, 0x24f, offsetof(struct counts, latin)},      {0x1e00, 0x1eff, offsetof(struct counts, latin)},
    {0x404, 0x404, offsetof(struct counts, ukrainian)}, {0x406, 0x407, offsetof(struct counts, ukrainian)},
    {0x454, 0x454, offsetof(struct counts, ukrainian)}, {0x456, 0x457, offsetof(struct counts, ukrainian)},
    {0x400, 0x52f, offsetof(struct counts, cyrillic)},  {0x600, 0x6ff, offsetof(struct counts, arabic)},
    {0x1100, 0x11ff, offsetof(struct counts, hangul)},  {0x3041, 0x3096, offsetof(struct counts, kana)},
    {0x30a1, 0x30fa, offsetof(struct counts, kana)},    {0x3400, 0x9fff, offsetof(struct counts, han)},
    {0xac00, 0xd7a3, offsetof(struct counts, hangul)},  {0x20000, 0x3ffff, offsetof(struct counts, han)},
};

static struct counts count(struct slice text)
{
    struct counts counts = {0};
    while (text.len) {
        ucs4_t c;
        size_t n = (size_t)u8_mbtouc(&c, (const uint8_t *)text.s, text.len);
        text = (struct slice){text.s + n, text.len - n};
        for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++)
            if (c >= scripts[i].first && c <= scripts[i].last) {
                ++*(size_t *)((char *)&counts + scripts[i].offset);
                break;
            }
    }
    return counts;
}

/* ---- words ---- */

static bool is_listed(const char *list, struct slice word)
{
    while (*list) {
        size_t n = strcspn(list, " ");
        if (n == word.len && same_letters(list, word.s, n))
            return true;
        list += n + strspn(list + n, " ");
    }
    return false;
}

static bool is_function_word(enum language language, const struct word *word)
{
    return is_listed(language_texts[language].function_words, (struct slice){word->s, word->len});
}

bool word_is_telling(const struct word *word, enum language language)
{
    if (word_is_common(word))
        return false;
    bool long_enough = word->len > 3 || (word->capitalised && word->len > 1); /* Rex */
    return word->kind != WORD_LETTERS || (long_enough && !is_function_word(language, word));
}

/* The language that most words of a text in Latin script are function words of; of equals the first. */
static enum language by_words(struct slice text)
{
    size_t counts[N_LANGUAGES] = {0};
    struct words words = words_of(text);
    struct word word;
    while (next_word(&words, &word))
        for (int i = 1; word.kind == WORD_LETTERS && i < N_LANGUAGES; i++)
            counts[i] += is_function_word((enum language)i, &word);
    enum language best = LANGUAGE_ENGLISH;
    for (int i = best; i < N_LANGUAGES; i++)
        if (counts[i] > counts[best])
            best = (enum language)i;
    return counts[best] >= LEAST_WORDS ? best : LANGUAGE_UNKNOWN;
}

/* ---- public ---- */

static enum language by_script(const struct counts *n)
{
    size_t cyrillic = n->cyrillic + n->ukrainian;
    if (n->kana && (n->han + n->kana) * 9 > n->latin && n->kana * 12 > n->han)
        return LANGUAGE_JAPANESE;
    if (n->han && n->han * 9 > n->latin + n->hangul) /* a Han character says what several letters do */
        return LANGUAGE_CHINESE;
    if (n->hangul >= LEAST_LETTERS && n->hangul * 3 > n->latin)
        return LANGUAGE_KOREAN;
    if (cyrillic >= LEAST_LETTERS && cyrillic > n->latin)
        return n->ukrainian * 50 > cyrillic ? LANGUAGE_UKRAINIAN : LANGUAGE_RUSSIAN;
    if (n->arabic >= LEAST_LETTERS && n->arabic > n->latin)
        return LANGUAGE_ARABIC;
    return LANGUAGE_UNKNOWN;
}

static struct slice beginning(struct slice text)
{
    enum { ENOUGH = 4096 }; /* bytes, to tell the language */
    return (struct slice){text.s, text.len < ENOUGH ? text.len : ENOUGH};
}

enum language language_of_script(struct slice text)
{
    struct counts n = count(beginning(text));
    return by_script(&n);
}

enum language language_of(struct slice text)
{
    struct counts n = count(beginning(text));
    enum language language = by_script(&n);
    bool latin = n.latin > n.han + n.kana + n.hangul + n.arabic + n.cyrillic + n.ukrainian;
    return language == LANGUAGE_UNKNOWN && latin ? by_words(beginning(text)) : language;
}
