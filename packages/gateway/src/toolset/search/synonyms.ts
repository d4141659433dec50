/**
 * Words with the same meaning in a request for a tool, in English, Chinese and Spanish. docs/guides/search.md shows the
 * list. A tool and a request match if both have a word of one entry, in any language. A word is listed in each form that
 * removing an ending does not give.
 */
export interface Synonyms {
  readonly en: string;
  readonly zh: string;
  readonly es: string;
}

export const synonyms: Readonly<Record<string, Synonyms>> = {
  on: {
    en: "turn on, switch on, power on, enable, activate, start, light up",
    zh: "打开, 开启, 启动, 开始, 开灯, 点亮, 开",
    es: "encender, enciende, encienda, prender, prende, activar, activa, iniciar, conectar",
  },
  off: {
    en: "turn off, switch off, power off, disable, deactivate, shut down",
    zh: "关闭, 关掉, 关上, 停用, 熄灭, 关灯, 关",
    es: "apagar, apaga, apague, desactivar, desactiva, desconectar",
  },
  light: {
    en: "light, lamp, bulb, led, lighting",
    zh: "灯, 灯光, 电灯, 照明, 灯泡",
    es: "luz, luces, lámpara, bombilla, foco, iluminación",
  },
  brightness: {
    en: "brightness, bright, brighter, dim, dimmer, darker, backlight, intensity",
    zh: "亮度, 明亮, 调亮, 调暗, 亮一点, 暗一点, 变亮, 变暗, 太暗, 太亮, 背光",
    es: "brillo, brillante, claridad, atenuar, atenúa, oscurecer, luminosidad, intensidad",
  },
  colour: {
    en: "colour, color, hue, tint, rgb, red, green, blue, yellow, white",
    zh: "颜色, 色彩, 变色, 彩色, 红色, 绿色, 蓝色, 黄色, 白色",
    es: "color, colores, tono, tonalidad, rojo, verde, azul, amarillo, blanco",
  },
  volume: {
    en: "volume, loud, louder, loudness, quiet, quieter, softer, sound level",
    zh: "音量, 声音, 大声, 小声, 响一点, 太吵, 调大声",
    es: "volumen, sonido, fuerte, alto, bajito, silencioso, ruido",
  },
  mute: {
    en: "mute, silence, unmute, hush",
    zh: "静音, 安静, 消音",
    es: "silenciar, silencia, mudo, callar, calla",
  },
  speak: {
    en: "speak, say, talk, announce, tell, voice, read aloud",
    zh: "说, 播报, 朗读, 讲话, 语音, 广播",
    es: "hablar, habla, decir, di, anunciar, anuncia, voz",
  },
  music: {
    en: "music, song, track, playlist, radio, audio, tune",
    zh: "音乐, 歌曲, 歌, 曲子, 电台, 播放列表",
    es: "música, canción, canciones, pista, radio, melodía",
  },
  play: {
    en: "play, resume, continue",
    zh: "播放, 放一首, 放首, 继续, 来一首",
    es: "reproducir, reproduce, toca, tocar, reanudar",
  },
  stop: {
    en: "stop, pause, halt, cancel, end",
    zh: "停止, 暂停, 停下, 取消, 别放了",
    es: "parar, detener, detén, pausar, pausa, cancelar",
  },
  next: {
    en: "next, skip, following",
    zh: "下一首, 下一个, 切歌, 跳过",
    es: "siguiente, próxima, próximo, saltar",
  },
  photo: {
    en: "photo, picture, photograph, camera, snapshot, image, snap, see, look",
    zh: "照片, 拍照, 拍摄, 相机, 摄像头, 图片, 看看, 看到, 拍",
    es: "foto, fotografía, cámara, imagen, retrato, mira, captura",
  },
  screen: {
    en: "screen, display, monitor, panel",
    zh: "屏幕, 显示屏, 显示器, 屏",
    es: "pantalla, visor, monitor",
  },
  theme: {
    en: "theme, dark mode, light mode, appearance, night mode",
    zh: "主题, 深色模式, 浅色模式, 夜间模式, 外观",
    es: "tema, modo oscuro, modo claro, apariencia, modo noche",
  },
  temperature: {
    en: "temperature, warm, warmer, cold, colder, hot, degrees, heat, cool, cooler",
    zh: "温度, 气温, 冷, 热, 暖, 度数, 多少度, 几度, 凉",
    es: "temperatura, calor, frío, caliente, grados, templado",
  },
  heating: {
    en: "heating, heater, thermostat, radiator, heat, warmer, climate",
    zh: "暖气, 加热, 取暖, 恒温器, 供暖, 地暖",
    es: "calefacción, calentador, termostato, radiador, estufa, climatización, clima",
  },
  cooling: {
    en: "air conditioner, air conditioning, ac, cooling, cooler",
    zh: "空调, 制冷, 冷气, 降温",
    es: "aire acondicionado, aire, refrigeración, enfriar, enfría",
  },
  humidity: { en: "humidity, moisture, humid, damp", zh: "湿度, 潮湿, 干燥", es: "humedad, húmedo" },
  fan: {
    en: "fan, ventilator, ventilation, blower",
    zh: "风扇, 电扇, 排风, 通风",
    es: "ventilador, ventilación, extractor",
  },
  door: { en: "door, entrance, gate", zh: "门, 大门, 房门", es: "puerta, portón, entrada" },
  lock: {
    en: "lock, bolt, secure",
    zh: "上锁, 锁好, 锁门, 锁上",
    es: "cerrojo, bloquear, bloquea, echar llave",
  },
  unlock: { en: "unlock, unbolt", zh: "解锁, 开锁, 开门", es: "desbloquear, desbloquea, quitar llave" },
  window: { en: "window, skylight", zh: "窗户, 窗, 天窗", es: "ventana, tragaluz" },
  blind: {
    en: "blind, curtain, shade, shutter, drapes, roller",
    zh: "窗帘, 百叶窗, 卷帘, 遮阳",
    es: "persiana, cortina, estor, toldo",
  },
  open: {
    en: "open, raise, lift",
    zh: "打开, 拉开, 升起, 开启",
    es: "abrir, abre, abra, subir, sube, levantar",
  },
  close: {
    en: "close, shut, lower",
    zh: "关上, 拉上, 关闭, 降下, 合上",
    es: "cerrar, cierra, cierre, bajar, baja",
  },
  alarm: {
    en: "alarm, security, siren, arm, disarm, burglar",
    zh: "警报, 报警, 安防, 布防, 撤防, 警铃",
    es: "alarma, seguridad, sirena, armar, arma, desarmar, desarma, intrusos",
  },
  presence: {
    en: "presence, occupancy, anybody, anyone, somebody, people, person, motion, who",
    zh: "有人, 在家, 人体, 存在, 谁, 运动, 没人",
    es: "presencia, alguien, personas, gente, movimiento, quién",
  },
  battery: {
    en: "battery, charge, charging, power level",
    zh: "电池, 电量, 充电",
    es: "batería, carga, pila, cargando",
  },
  status: {
    en: "status, state, information, info, condition, overview, check, how is",
    zh: "状态, 情况, 信息, 查询, 查看, 怎么样",
    es: "estado, información, situación, consultar, consulta, resumen, cómo está",
  },
  restart: {
    en: "restart, reboot, reset, power cycle",
    zh: "重启, 重新启动, 重置, 复位",
    es: "reiniciar, reinicia, reinicio, rearrancar",
  },
  update: {
    en: "update, upgrade, firmware, install",
    zh: "更新, 升级, 固件",
    es: "actualizar, actualiza, actualización, firmware",
  },
  network: {
    en: "network, wifi, wi-fi, internet, signal, connection",
    zh: "网络, 无线, 信号, 联网, 上网",
    es: "red, wifi, internet, señal, conexión",
  },
  plug: {
    en: "plug, socket, outlet, appliance, relay",
    zh: "插座, 插头, 电器, 继电器, 开关",
    es: "enchufe, toma, aparato, relé, interruptor",
  },
  energy: {
    en: "energy, power, consumption, electricity, watt",
    zh: "能耗, 功率, 用电, 耗电, 电费",
    es: "energía, consumo, electricidad, potencia, vatios",
  },
  timer: {
    en: "timer, countdown, alarm clock, wake up, remind, reminder, schedule",
    zh: "定时, 定时器, 倒计时, 闹钟, 提醒, 叫醒",
    es: "temporizador, cuenta atrás, despertador, recordar, recuérdame, recordatorio, programar",
  },
  scene: {
    en: "scene, mood, preset, routine, mode",
    zh: "场景, 情景, 氛围, 模式",
    es: "escena, ambiente, rutina, modo",
  },
  move: {
    en: "move, walk, go, drive, forward, backward, step",
    zh: "移动, 走, 前进, 后退, 行走, 往前",
    es: "mover, mueve, caminar, camina, avanzar, avanza, adelante, atrás",
  },
  turnAround: {
    en: "rotate, spin, steer, turn left, turn right",
    zh: "旋转, 左转, 右转, 转身, 转圈",
    es: "girar, gira, rotar, rota",
  },
  dance: { en: "dance, perform, trick", zh: "跳舞, 表演, 舞蹈", es: "bailar, baila, baile" },
  vacuum: {
    en: "vacuum, hoover, clean, sweep, mop",
    zh: "扫地, 吸尘, 清扫, 打扫, 拖地",
    es: "aspirar, aspira, aspiradora, limpiar, limpia, barrer, barre, fregar",
  },
  water: {
    en: "water, irrigate, irrigation, sprinkler, valve, tap",
    zh: "浇水, 灌溉, 洒水, 水阀, 水龙头",
    es: "regar, riega, riego, agua, aspersor, válvula, grifo",
  },
  tv: { en: "tv, television, channel", zh: "电视, 频道, 电视机", es: "televisión, televisor, tele, canal" },
  find: {
    en: "where, find, locate, lost",
    zh: "在哪, 哪里, 寻找, 找到",
    es: "dónde, encontrar, encuentra, ubicar, localizar",
  },
  kitchen: { en: "kitchen", zh: "厨房", es: "cocina" },
  livingRoom: {
    en: "living room, lounge, livingroom, sitting room",
    zh: "客厅, 起居室",
    es: "salón, sala, sala de estar, comedor",
  },
  bedroom: { en: "bedroom", zh: "卧室, 睡房, 房间", es: "dormitorio, habitación, cuarto, recámara" },
  bathroom: { en: "bathroom, toilet, shower", zh: "浴室, 卫生间, 厕所, 洗手间", es: "baño, aseo, ducha" },
  office: {
    en: "office, study, desk, workroom",
    zh: "书房, 办公室, 书桌, 办公桌",
    es: "oficina, despacho, estudio, escritorio",
  },
  hall: {
    en: "hall, hallway, corridor, entrance",
    zh: "走廊, 玄关, 过道, 门厅",
    es: "pasillo, recibidor, vestíbulo, entrada",
  },
  garden: {
    en: "garden, yard, outside, outdoor, patio, terrace",
    zh: "花园, 院子, 室外, 户外, 阳台",
    es: "jardín, patio, exterior, fuera, terraza",
  },
  garage: { en: "garage, carport", zh: "车库", es: "garaje, cochera" },
};
