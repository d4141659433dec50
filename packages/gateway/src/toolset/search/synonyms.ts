/**
 * Words with the same meaning in a request for a tool, in English, Chinese, Spanish and Vietnamese. docs/guides/search.md
 * shows the list. A tool and a request match if both have a word of one entry, in any language. A word is listed in each
 * form that removing an ending does not give.
 */
export interface Synonyms {
  readonly en: string;
  readonly zh: string;
  readonly es: string;
  /** With all accents; a request may leave them out. */
  readonly vi: string;
}

export const synonyms: Readonly<Record<string, Synonyms>> = {
  on: {
    en: "turn on, switch on, power on, enable, activate, start, light up",
    zh: "打开, 开启, 启动, 开始, 开灯, 点亮, 开",
    es: "encender, enciende, encienda, prender, prende, activar, activa, iniciar, conectar",
    vi: "bật, bật lên, mở, mở lên, khởi động, kích hoạt, bắt đầu",
  },
  off: {
    en: "turn off, switch off, power off, disable, deactivate, shut down",
    zh: "关闭, 关掉, 关上, 停用, 熄灭, 关灯, 关",
    es: "apagar, apaga, apague, desactivar, desactiva, desconectar",
    vi: "tắt, tắt đi, ngắt, vô hiệu hóa",
  },
  light: {
    en: "light, lamp, bulb, led, lighting",
    zh: "灯, 灯光, 电灯, 照明, 灯泡",
    es: "luz, luces, lámpara, bombilla, foco, iluminación",
    vi: "đèn, bóng đèn, ánh sáng, chiếu sáng",
  },
  brightness: {
    en: "brightness, bright, brighter, dim, dimmer, darker, backlight, intensity",
    zh: "亮度, 明亮, 调亮, 调暗, 亮一点, 暗一点, 变亮, 变暗, 太暗, 太亮, 背光",
    es: "brillo, brillante, claridad, atenuar, atenúa, oscurecer, luminosidad, intensidad",
    vi: "độ sáng, sáng hơn, sáng lên, sáng quá, quá sáng, tăng sáng, giảm sáng, tối hơn, tối lại, tối quá, quá tối, mờ hơn, chói, đèn nền",
  },
  colour: {
    en: "colour, color, hue, tint, rgb, red, green, blue, yellow, white",
    zh: "颜色, 色彩, 变色, 彩色, 红色, 绿色, 蓝色, 黄色, 白色",
    es: "color, colores, tono, tonalidad, rojo, verde, azul, amarillo, blanco",
    vi: "màu, màu sắc, đổi màu, tông màu, màu đỏ, màu xanh, xanh lá, xanh dương, màu vàng, màu trắng",
  },
  volume: {
    en: "volume, loud, louder, loudness, quiet, quieter, softer, sound level",
    zh: "音量, 声音, 大声, 小声, 响一点, 太吵, 调大声",
    es: "volumen, sonido, fuerte, alto, bajito, silencioso, ruido",
    vi: "âm lượng, âm thanh, to hơn, to lên, to quá, nhỏ hơn, nhỏ lại, nhỏ xuống, nhỏ quá, bé lại, to tiếng, nhỏ tiếng, lớn tiếng, tăng tiếng, giảm tiếng, vặn to, vặn nhỏ, mở to, mở nhỏ, nói to, nói nhỏ, ồn quá, quá ồn",
  },
  mute: {
    en: "mute, silence, unmute, hush",
    zh: "静音, 安静, 消音",
    es: "silenciar, silencia, mudo, callar, calla",
    vi: "tắt tiếng, tắt âm, bật tiếng, im lặng, im đi, yên lặng",
  },
  speak: {
    en: "speak, say, talk, announce, tell, voice, read aloud",
    zh: "说, 播报, 朗读, 讲话, 语音, 广播",
    es: "hablar, habla, decir, di, anunciar, anuncia, voz",
    vi: "nói, đọc to, thông báo, phát thanh, giọng nói, phát biểu",
  },
  music: {
    en: "music, song, track, playlist, radio, audio, tune",
    zh: "音乐, 歌曲, 歌, 曲子, 电台, 播放列表",
    es: "música, canción, canciones, pista, radio, melodía",
    vi: "nhạc, âm nhạc, bài hát, bản nhạc, ca khúc, một bài, danh sách phát, đài, bật nhạc, mở nhạc, phát nhạc, chuyển bài",
  },
  play: {
    en: "play, resume, continue",
    zh: "播放, 放一首, 放首, 继续, 来一首",
    es: "reproducir, reproduce, toca, tocar, reanudar",
    vi: "phát, chơi, phát tiếp, tiếp tục, bật nhạc, mở nhạc, phát nhạc",
  },
  stop: {
    en: "stop, pause, halt, cancel, end",
    zh: "停止, 暂停, 停下, 取消, 别放了",
    es: "parar, detener, detén, pausar, pausa, cancelar",
    vi: "dừng, dừng lại, tạm dừng, ngừng, hủy, kết thúc",
  },
  next: {
    en: "next, skip, following",
    zh: "下一首, 下一个, 切歌, 跳过",
    es: "siguiente, próxima, próximo, saltar",
    vi: "tiếp theo, kế tiếp, bài sau, bài kế, bài tiếp, chuyển bài, bỏ qua",
  },
  photo: {
    en: "photo, picture, photograph, camera, snapshot, image, snap, see, look",
    zh: "照片, 拍照, 拍摄, 相机, 摄像头, 图片, 看看, 看到, 拍",
    es: "foto, fotografía, cámara, imagen, retrato, mira, captura",
    vi: "ảnh, chụp, chụp ảnh, chụp hình, bức ảnh, tấm ảnh, tấm hình, hình ảnh, máy ảnh, ghi hình, nhìn",
  },
  screen: {
    en: "screen, display, monitor, panel",
    zh: "屏幕, 显示屏, 显示器, 屏",
    es: "pantalla, visor, monitor",
    vi: "màn hình, hiển thị",
  },
  theme: {
    en: "theme, dark mode, light mode, appearance, night mode",
    zh: "主题, 深色模式, 浅色模式, 夜间模式, 外观",
    es: "tema, modo oscuro, modo claro, apariencia, modo noche",
    vi: "chủ đề, giao diện, chế độ tối, chế độ sáng, chế độ ban đêm, nền tối, nền sáng",
  },
  temperature: {
    en: "temperature, warm, warmer, cold, colder, hot, degrees, heat, cool, cooler",
    zh: "温度, 气温, 冷, 热, 暖, 度数, 多少度, 几度, 凉",
    es: "temperatura, calor, frío, caliente, grados, templado",
    vi: "nhiệt độ, nóng, lạnh, ấm, mát, ấm hơn, nóng quá, lạnh quá, bao nhiêu độ, mấy độ",
  },
  heating: {
    en: "heating, heater, thermostat, radiator, heat, warmer, climate",
    zh: "暖气, 加热, 取暖, 恒温器, 供暖, 地暖",
    es: "calefacción, calentador, termostato, radiador, estufa, climatización, clima",
    vi: "sưởi, sưởi ấm, máy sưởi, lò sưởi, bộ điều nhiệt, làm ấm",
  },
  cooling: {
    en: "air conditioner, air conditioning, ac, cooling, cooler",
    zh: "空调, 制冷, 冷气, 降温",
    es: "aire acondicionado, aire, refrigeración, enfriar, enfría",
    vi: "điều hòa, máy điều hòa, máy lạnh, làm mát, làm lạnh",
  },
  humidity: {
    en: "humidity, moisture, humid, damp",
    zh: "湿度, 潮湿, 干燥",
    es: "humedad, húmedo",
    vi: "độ ẩm, ẩm, ẩm ướt, hanh khô",
  },
  fan: {
    en: "fan, ventilator, ventilation, blower",
    zh: "风扇, 电扇, 排风, 通风",
    es: "ventilador, ventilación, extractor",
    vi: "quạt, quạt gió, quạt trần, quạt hút, tốc độ gió, thông gió",
  },
  door: {
    en: "door, entrance, gate",
    zh: "门, 大门, 房门",
    es: "puerta, portón, entrada",
    vi: "cửa, cửa ra vào, cửa chính, cổng, mở cửa, đóng cửa, khóa cửa",
  },
  lock: {
    en: "lock, bolt, secure",
    zh: "上锁, 锁好, 锁门, 锁上",
    es: "cerrojo, bloquear, bloquea, echar llave",
    vi: "khóa, khóa lại, khóa cửa, chốt cửa",
  },
  unlock: {
    en: "unlock, unbolt",
    zh: "解锁, 开锁, 开门",
    es: "desbloquear, desbloquea, quitar llave",
    vi: "mở khóa, bỏ khóa, mở chốt",
  },
  window: { en: "window, skylight", zh: "窗户, 窗, 天窗", es: "ventana, tragaluz", vi: "cửa sổ, giếng trời" },
  blind: {
    en: "blind, curtain, shade, shutter, drapes, roller",
    zh: "窗帘, 百叶窗, 卷帘, 遮阳",
    es: "persiana, cortina, estor, toldo",
    vi: "rèm, rèm cửa, rèm cuốn, màn cửa, mành",
  },
  open: {
    en: "open, raise, lift",
    zh: "打开, 拉开, 升起, 开启",
    es: "abrir, abre, abra, subir, sube, levantar",
    vi: "mở, mở ra, mở cửa, kéo lên, nâng lên",
  },
  close: {
    en: "close, shut, lower",
    zh: "关上, 拉上, 关闭, 降下, 合上",
    es: "cerrar, cierra, cierre, bajar, baja",
    vi: "đóng, đóng lại, đóng cửa, khép, kéo xuống, hạ xuống",
  },
  alarm: {
    en: "alarm, security, siren, arm, disarm, burglar",
    zh: "警报, 报警, 安防, 布防, 撤防, 警铃",
    es: "alarma, seguridad, sirena, armar, arma, desarmar, desarma, intrusos",
    vi: "báo động, an ninh, còi, chống trộm, báo trộm, cảnh báo",
  },
  presence: {
    en: "presence, occupancy, anybody, anyone, somebody, people, person, motion, who",
    zh: "有人, 在家, 人体, 存在, 谁, 运动, 没人",
    es: "presencia, alguien, personas, gente, movimiento, quién",
    vi: "có ai, có người, ai ở nhà, ai đang, người, hiện diện, chuyển động, vắng nhà",
  },
  battery: {
    en: "battery, charge, charging, power level",
    zh: "电池, 电量, 充电",
    es: "batería, carga, pila, cargando",
    vi: "pin, mức pin, sạc, sạc pin, ắc quy",
  },
  status: {
    en: "status, state, information, info, condition, overview, check, how is",
    zh: "状态, 情况, 信息, 查询, 查看, 怎么样",
    es: "estado, información, situación, consultar, consulta, resumen, cómo está",
    vi: "trạng thái, tình trạng, thông tin, kiểm tra, thế nào, ra sao, tổng quan",
  },
  restart: {
    en: "restart, reboot, reset, power cycle",
    zh: "重启, 重新启动, 重置, 复位",
    es: "reiniciar, reinicia, reinicio, rearrancar",
    vi: "khởi động lại, bật lại, đặt lại, khôi phục",
  },
  update: {
    en: "update, upgrade, firmware, install",
    zh: "更新, 升级, 固件",
    es: "actualizar, actualiza, actualización, firmware",
    vi: "cập nhật, nâng cấp, phần mềm, phiên bản mới",
  },
  network: {
    en: "network, wifi, wi-fi, internet, signal, connection",
    zh: "网络, 无线, 信号, 联网, 上网",
    es: "red, wifi, internet, señal, conexión",
    vi: "mạng, mạng không dây, kết nối, tín hiệu, sóng",
  },
  plug: {
    en: "plug, socket, outlet, appliance, relay",
    zh: "插座, 插头, 电器, 继电器, 开关",
    es: "enchufe, toma, aparato, relé, interruptor",
    vi: "ổ cắm, phích cắm, ổ điện, công tắc, rơ le, thiết bị điện",
  },
  energy: {
    en: "energy, power, consumption, electricity, watt",
    zh: "能耗, 功率, 用电, 耗电, 电费",
    es: "energía, consumo, electricidad, potencia, vatios",
    vi: "điện năng, năng lượng, tiêu thụ, công suất, tiền điện",
  },
  timer: {
    en: "timer, countdown, alarm clock, wake up, remind, reminder, schedule",
    zh: "定时, 定时器, 倒计时, 闹钟, 提醒, 叫醒",
    es: "temporizador, cuenta atrás, despertador, recordar, recuérdame, recordatorio, programar",
    vi: "hẹn giờ, đếm ngược, báo thức, đánh thức, nhắc, nhắc nhở, đặt lịch, lịch",
  },
  scene: {
    en: "scene, mood, preset, routine, mode",
    zh: "场景, 情景, 氛围, 模式",
    es: "escena, ambiente, rutina, modo",
    vi: "cảnh, ngữ cảnh, kịch bản, chế độ",
  },
  move: {
    en: "move, walk, go, drive, forward, backward, step",
    zh: "移动, 走, 前进, 后退, 行走, 往前",
    es: "mover, mueve, caminar, camina, avanzar, avanza, adelante, atrás",
    vi: "di chuyển, tiến, tiến lên, lùi, lùi lại, đi tới, đi thẳng, đi lùi, bước",
  },
  turnAround: {
    en: "rotate, spin, steer, turn left, turn right",
    zh: "旋转, 左转, 右转, 转身, 转圈",
    es: "girar, gira, rotar, rota",
    vi: "xoay, quay, quay trái, quay phải, rẽ trái, rẽ phải",
  },
  dance: {
    en: "dance, perform, trick",
    zh: "跳舞, 表演, 舞蹈",
    es: "bailar, baila, baile",
    vi: "nhảy, nhảy múa, múa, biểu diễn",
  },
  vacuum: {
    en: "vacuum, hoover, clean, sweep, mop",
    zh: "扫地, 吸尘, 清扫, 打扫, 拖地",
    es: "aspirar, aspira, aspiradora, limpiar, limpia, barrer, barre, fregar",
    vi: "hút bụi, máy hút bụi, quét nhà, quét dọn, dọn dẹp, dọn nhà, lau nhà, lau sàn",
  },
  water: {
    en: "water, irrigate, irrigation, sprinkler, valve, tap",
    zh: "浇水, 灌溉, 洒水, 水阀, 水龙头",
    es: "regar, riega, riego, agua, aspersor, válvula, grifo",
    vi: "tưới, tưới cây, tưới nước, vòi, vòi nước, vòi phun, van nước",
  },
  tv: {
    en: "tv, television, channel",
    zh: "电视, 频道, 电视机",
    es: "televisión, televisor, tele, canal",
    vi: "tivi, ti vi, truyền hình, kênh",
  },
  find: {
    en: "where, find, locate, lost",
    zh: "在哪, 哪里, 寻找, 找到",
    es: "dónde, encontrar, encuentra, ubicar, localizar",
    vi: "ở đâu, chỗ nào, tìm, tìm kiếm, định vị, bị mất",
  },
  kitchen: { en: "kitchen", zh: "厨房", es: "cocina", vi: "bếp, nhà bếp, phòng bếp" },
  livingRoom: {
    en: "living room, lounge, livingroom, sitting room",
    zh: "客厅, 起居室",
    es: "salón, sala, sala de estar, comedor",
    vi: "phòng khách",
  },
  bedroom: {
    en: "bedroom",
    zh: "卧室, 睡房, 房间",
    es: "dormitorio, habitación, cuarto, recámara",
    vi: "phòng ngủ, buồng ngủ",
  },
  bathroom: {
    en: "bathroom, toilet, shower",
    zh: "浴室, 卫生间, 厕所, 洗手间",
    es: "baño, aseo, ducha",
    vi: "phòng tắm, nhà tắm, nhà vệ sinh",
  },
  office: {
    en: "office, study, desk, workroom",
    zh: "书房, 办公室, 书桌, 办公桌",
    es: "oficina, despacho, estudio, escritorio",
    vi: "phòng làm việc, văn phòng, bàn làm việc, phòng học",
  },
  hall: {
    en: "hall, hallway, corridor, entrance",
    zh: "走廊, 玄关, 过道, 门厅",
    es: "pasillo, recibidor, vestíbulo, entrada",
    vi: "hành lang, sảnh, tiền sảnh, lối vào",
  },
  garden: {
    en: "garden, yard, outside, outdoor, patio, terrace",
    zh: "花园, 院子, 室外, 户外, 阳台",
    es: "jardín, patio, exterior, fuera, terraza",
    vi: "vườn, sân, sân thượng, ban công, ngoài trời",
  },
  garage: { en: "garage, carport", zh: "车库", es: "garaje, cochera", vi: "gara, ga ra, nhà xe, nhà để xe" },
};
