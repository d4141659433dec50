import type { voice as en } from "./en-voice.ts";

export const voice: Readonly<Record<keyof typeof en, string>> = {
  "nav.voice": "Voz",
  "voice.title": "Voz",
  "voice.lead": "Placas que hablan con su servidor de voz a través de Tendon.",
  "voice.talking.one": "{count} conversación activa",
  "voice.talking.other": "{count} conversaciones activas",
  "voice.more.one": "y {count} más",
  "voice.more.other": "y {count} más",
  "voice.mayNot": "Su token no puede ver dispositivos. Necesita el permiso read.",
  "voice.none": "Aún no hay servidor de voz",
  "voice.noneHint":
    "Las placas siguen hablando con su servidor de voz mientras los agentes usan sus herramientas. Indique su dirección en tendon.yaml y reinicie la pasarela:",
  "voice.quiet": "No hay conversaciones activas",
  "voice.wasQuiet": "No había conversaciones activas",
  "voice.quietHint":
    "Diga la palabra de activación a una placa y su conversación aparece aquí. ¿No tiene una placa a mano? Ejecute una virtual que habla cada cinco segundos:",
  "voice.upstream": "Servidor de voz",
  "voice.lasts": "Duración",
  "voice.up": "Del dispositivo",
  "voice.down": "Al dispositivo",
  "voice.packets.one": "{count} paquete",
  "voice.packets.other": "{count} paquetes",
  "voice.lost": "{percent} % perdido",
  "voice.jitter": "fluctuación {ms} ms",
  "voice.state.opening": "Conectando",
  "voice.state.idle": "Inactiva",
  "voice.state.listening": "Escucha",
  "voice.state.speaking": "Habla",
  "voice.state.ending": "Terminando",
};
