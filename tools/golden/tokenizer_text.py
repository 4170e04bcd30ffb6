"""Sentences that tokenizers trip over: scripts, signs, spaces and broken text. Invisible characters are escaped."""

SENTENCES = [
    # prompts as people write them
    "a photo of a fox",
    "this is a test string of text",
    "A cat sitting on a windowsill, 8k, ultra-detailed, trending on artstation",
    "portrait of a woman, (masterpiece:1.3), [blurry|sharp], <lora:style:0.8>, best quality",
    "HDR, UHD, 64K; f/1.8 @ 35mm (ISO-100)... ~2m #tag @user https://example.org/a?b=c&d=e#f",
    "snake_case CamelCase kebab-case UPPER_CASE __init__ \\n \\t C:\\temp",
    "100% $5.99 3.14159 1,000,000 2nd 0x1F 10^-3 1/2 24-70mm 2077's",
    # contractions and stray apostrophes
    "It's we're they've I'm you'll she'd don't",
    "DON'T STOP'S CAN'T 'S 'T 'RE 'VE 'M 'LL 'D",
    "rock 'n' roll o'clock y'all'd've ''s '' ' 's's 't't 'sx 'res 'lll",
    "\u2018quotes\u2019 it\u2019s \u201ccurly\u201d \u2014 dash \u2013 \u2026 \u2039\u203a\u00ab\u00bb",
    # markup
    "&amp; &lt;b&gt; &quot;x&quot; &#39;y&#39; &nbsp; &amp;amp; &eacute; &copy; &notanentity; AT&T",
    '<b>bold</b> {json: "yes"} <br/> <|x|> <||>',
    # Latin
    "Die größte Straße heißt Fußgänger, ẞ und ß, Ärger, Übung, Öl",
    "Où est le café? L'été à Noël, œuvre, garçon, naïve, ÇA, Æsir Ðorn Þing Øl Łódź",
    "İstanbul'da ılık ışık, IĞDIR, ğüşöç ĞÜŞÖÇ Iıİi",
    "Việt Nam tiếng Việt ở đây, ỨNG DỤNG",
    "ﬁ ﬂ ﬃ ŉ ǆ ǅ Ǆ ĳ Ĳ ẖ ǰ ΐ ΰ ﬅ Ⱥ ⱥ Ɐ ɐ ʼn ˈstress ʰ ˀ",
    # other scripts
    "Οδυσσεύς ΟΔΥΣΣΕΥΣ ΣΊΣΥΦΟΣ σςΣ Σ ἀρχή ᾳ ᾼ ᾷ ῼ",
    "Привет, мир! ЁЖИК съел щавель. Київ їжак ґанок Ѳ ѳ Ꙁ ꙁ ꙮ",
    "你好，世界。一只狐狸的照片，高清",
    "東京タワーと富士山、桜の花。カタカナ ﾊﾝｶｸ ｶﾞ がぎぐ か゛ 々 ー",
    "안녕하세요 세계, 여우 사진 한글 각 \u1112\u1161\u11ab \u1100\u1161 \uac00\u11a8",
    "สวัสดีชาวโลก น้ำ กำ ๑๒๓",
    "नमस्ते दुनिया क्षत्रिय ज़िन्दगी \u0958 \u0928\u093c ४५",
    "שלום עולם שָׁלוֹם \ufb2a \ufb2e",
    "مرحبا بالعالم السَّلَامُ لا ﷺ ١٢٣",
    "বাংলা ভাষা \u09c7\u09be தமிழ் மொழி \u0b95\u0bc6\u0bbe",
    "ქართული ენა ᲥᲐᲠᲗᲣᲚᲘ Հայերեն ՀԱՅԵՐԵՆ և አማርኛ ፩፪፫ Ꭰ ꭰ ᏸ",
    "བོད་སྐད་ မြန်မာ ភាសាខ្មែរ ລາວ සිංහල ᠮᠣᠩᠭᠣᠯ ㄅㄆㄇ",
    "ℌ𝔢𝔩𝔩𝔬 𝓌ℴ𝓇𝓁𝒹 𝟘𝟙𝟚 𝐀𝐁𝐂 Ｆｕｌｌ　ｗｉｄｔｈ １２３ 𐐀𐐨 𞤀𞤢",
    # numbers and signs
    "½ ¼ Ⅳ ⅳ ② ㊙ ㍿ ² ³ ₁ ٣ ४ ๕ 〇 一二三 ௰ 𝟗 Ⓐ ⓐ 🄰",
    "№ ™ ® © ° µ μ Å \u212b \u212a \u2126 Ω ℃",
    "Ω≠∞√∑∫≈ αβγ Δx→0 ∀x∈ℝ ≠ =\u0338 <\u0338",
    "♠♣♥♦ ♪♫ ☃ ★☆ ✓✗ ▁▂▃▄▅▆▇█ ░▒▓ ─│┌┐└┘ ←↑→↓ ⇒ \u2adc",
    "!!! ??? ... --- === *** ### (((x))) [[[y]]] {{{z}}} <<<>>> ||| \\\\\\ /// ~~~ ``` ,,,, ;;;; ::::",
    "!@#$%^&*()_+-=[]{}|;':\",./<>?",
    "a.b.c.d e/f/g h-i-j k_l_m n+o=p q'r's't u\"v\"",
    # emoji
    "😀 😃👍🏽 👩\u200d👩\u200d👧\u200d👦 👨🏿\u200d🚀 🏳\ufe0f\u200d🌈 🇩🇪🇫🇷 ❤\ufe0f ☺\ufe0e 1\ufe0f\u20e3 #\ufe0f\u20e3",
    "🦊🦊🦊 fox🦊fox 🦊's 🔥lit🔥 :) ;-P ¯\\_(ツ)_/¯ (╯°□°)╯︵ ┻━┻",
    # combining marks and normal forms
    "e\u0301 \u00e9 a\u030a \u00e5 n\u0303 \u00f1 o\u0308\u0304 \u022b q\u0307\u0323 q\u0323\u0307 A\u0327\u030a",
    "Z\u0351\u036b\u0343\u036aa\u0340l\u0341g\u0344o\u0345 \u0301alone I\u0307 i\u0307 \u0130 s\u0323\u0307 \u1e69 \u1e9b\u0323",
    "\u0374 \u037e \u0387 \u1fee \u1fef \u2000 \u2001 \u2329 \u232a \uf900 \ufa0e \U0002f800 \ufb1d \u0344 \u0f73",
    # spaces, invisible characters, controls
    "zero\u200bwidth\u200cnon\u200djoin\u2060er\ufeff bom soft\u00adhyphen\u034fjoin\u115f\u3164fill",
    "nbsp\u00a0thin\u2009hair\u200anarrow\u202fwide\u3000em\u2003ogham\u1680math\u205fmvs\u180eend",
    "line\u2028para\u2029nel\u0085vt\u000bff\u000cend \u00a0\u00a0 \u3000 x",
    "tab\there  two   three\r\nnew\nline\n\n\nend",
    "  leading and trailing  ",
    "\t\n \r",
    "",
    " ",
    "fs\u001cgs\u001drs\u001eus\u001fend bell\u0007back\u0008esc\u001b[0m del\u007f c1\u0080\u009f nul\u0000nul",
    "\u202eright to left\u202c \u2066isolate\u2069 \ufffd \ue000 \U000f0000 \ufdd0 \U0010ffff \ufff9\ufffb",
    # text that was decoded wrongly once
    "Ã©tÃ© â€œquoteâ€\u009d â€™s doesnâ€™t ï¬\u0081 Ã¼ber Â£5 ðŸ¦Š",
]
