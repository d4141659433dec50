/** Everyday requests and the tool they mean: kind of device, tool name, and room if given. */
type Request = readonly [query: string, kind: string, tool: string, room?: string];

/** In the language of the tool's description. */
export const sameLanguage: readonly Request[] = [
  ["set the volume to 30", "speaker", "self.audio_speaker.set_volume"],
  ["take a photo", "speaker", "self.camera.take_photo"],
  ["turn off the lamp in the bedroom", "lamp", "self.lamp.turn_off", "bedroom"],
  ["what is the temperature in this room", "thermostat", "get_climate"],
  ["make the dog dance", "robot", "self.dog.dance"],
  ["tilt the slats", "blind", "self.blind.tilt"],
  ["clean only one room", "vacuum", "clean_room"],
  ["unlock the front door", "doorbell", "unlock_door"],
  ["skip to the next track", "speaker", "self.player.next"],
  ["how much energy was used today", "thermostat", "get_consumption"],

  ["把音量调到五十", "yinxiang", "self.audio_speaker.set_volume"],
  ["帮我拍一张照片", "yinxiang", "self.camera.take_photo"],
  ["打开电灯", "deng", "self.light.turn_on"],
  ["设置电灯的颜色", "deng", "self.light.set_color"],
  ["室内温度是多少", "kongtiao", "get_temperature"],
  ["空调的风速调一下", "kongtiao", "set_fan_speed"],
  ["拉开窗帘", "chuanglian", "open_curtain"],
  ["让机器狗坐下", "jiqigou", "self.dog.sit"],
  ["最近有哪些访客", "menjin", "visitor_log"],
  ["今天的天气预报", "yinxiang", "self.weather.report"],

  ["enciende la luz", "casa", "set_light_state"],
  ["¿está armada la alarma?", "casa", "get_alarm_status"],
  ["¿qué luces están encendidas?", "casa", "list_lights_on"],
  ["ajusta el volumen del altavoz", "altavoz", "self.audio_speaker.set_volume"],
  ["pon un temporizador de diez minutos", "altavoz", "poner_temporizador"],
  ["sube la persiana", "persiana", "subir_persiana"],
  ["riega la zona del césped", "riego", "regar_zona"],
  ["¿cuánta energía ha gastado hoy el enchufe?", "enchufe", "leer_consumo"],
  ["vacía el depósito", "aspiradora", "vaciar_deposito"],
  ["abre el portón", "garaje", "abrir_porton"],
];

/** Requests without any word of the tool, which need a synonym in the same or another language. */
export const bySynonym: readonly Request[] = [
  ["louder please", "speaker", "self.audio_speaker.set_volume"],
  ["a picture from the camera", "speaker", "self.camera.take_photo"],
  ["make the display dimmer", "speaker", "self.screen.set_brightness"],
  ["switch the bulb off", "lamp", "self.lamp.turn_off"],
  ["switch on the led", "lamp", "self.lamp.turn_on"],
  ["lift the shutter", "blind", "self.blind.open"],
  ["hoover the apartment", "vacuum", "start_cleaning"],
  ["secure the entrance", "doorbell", "lock_door"],
  ["announce dinner", "speaker", "self.speech.say"],
  ["remind me of the cake", "speaker", "self.timer.start"],

  ["大声一点", "yinxiang", "self.audio_speaker.set_volume"],
  ["屏太暗了", "yinxiang", "self.screen.set_brightness"],
  ["用摄像头看看", "yinxiang", "self.camera.take_photo"],
  ["明天早上叫醒我", "yinxiang", "self.clock.set_alarm"],
  ["来一首好听的", "yinxiang", "self.music.play_song"],
  ["屋里好热，降温", "kongtiao", "set_temperature"],
  ["关灯", "deng", "self.light.turn_off"],
  ["表演一个", "jiqigou", "self.dog.dance"],
  ["卷帘升起来", "chuanglian", "open_curtain"],
  ["解锁门", "menjin", "unlock_gate"],

  ["más fuerte", "altavoz", "self.audio_speaker.set_volume"],
  ["haz un retrato con la cámara", "altavoz", "self.camera.take_photo"],
  ["toca algo de música", "altavoz", "reproducir_cancion"],
  ["¿hay alguien?", "casa", "get_presence"],
  ["¿hace frío?", "casa", "get_climate"],
  ["prende el foco", "casa", "set_light_state"],
  ["levanta el estor", "persiana", "subir_persiana"],
  ["cierra la entrada", "garaje", "cerrar_porton"],
  ["barre el piso", "aspiradora", "aspirar_todo"],
  ["cuenta atrás de cinco minutos", "altavoz", "poner_temporizador"],
];

/** A request in one language, a tool in another. */
export const acrossLanguages: readonly Request[] = [
  ["开始扫地", "vacuum", "start_cleaning"],
  ["给草地浇水", "riego", "regar_zona"],
  ["enciende el aire acondicionado", "kongtiao", "turn_on_ac"],
  ["que baile el perro", "robot", "self.dog.dance"],
  ["is the alarm armed", "casa", "get_alarm_status"],
  ["water the lawn", "riego", "regar_zona"],
];

/** Requests for another volume: the tool that sets it comes before the one that only reads it. */
export const otherVolume: readonly string[] = [
  "louder",
  "make it louder",
  "louder please",
  "quieter please",
  "a bit softer",
  "turn the volume down",
  "调大音量",
  "把音量调小一点",
  "大声一点",
  "小声点",
  "sube el volumen",
  "bajar el volumen",
  "más fuerte",
];
