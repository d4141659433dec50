import type { voice as en } from "./en-voice.ts";

export const voice: Readonly<Record<keyof typeof en, string>> = {
  "nav.voice": "Voz",
  "voice.title": "Voz",
  "voice.lead": "Placas que hablan con su servidor de voz a través de Tendon.",
  "voice.talking.one": "{count} placa está hablando",
  "voice.talking.other": "{count} placas están hablando",
  "voice.more.one": "y {count} más",
  "voice.more.other": "y {count} más",
  "voice.mayNot": "Su token no puede ver dispositivos: hace falta read.",
  "voice.none": "Aún no hay servidor de voz",
  "voice.noneHint":
    "Las placas siguen hablando con el servidor de voz que ya tiene, mientras los agentes usan sus herramientas. Indíquelo en tendon.yaml y reinicie la pasarela:",
  "voice.quiet": "Nadie está hablando",
  "voice.wasQuiet": "Nadie hablaba",
  "voice.quietHint":
    "Diga la palabra de activación a una placa y su conversación aparece aquí. ¿No tiene placa a mano? Una virtual habla cada cinco segundos:",
  "voice.upstream": "Servidor de voz",
  "voice.lasts": "Habla desde hace",
  "voice.up": "Del dispositivo",
  "voice.down": "Al dispositivo",
  "voice.packets.one": "{count} paquete",
  "voice.packets.other": "{count} paquetes",
  "voice.lost": "{percent} % perdido",
  "voice.jitter": "fluctuación {ms} ms",
  "voice.state.opening": "Conectando",
  "voice.state.idle": "En silencio",
  "voice.state.listening": "Escucha",
  "voice.state.speaking": "Habla",
  "voice.state.ending": "Terminando",
};
