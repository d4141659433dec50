import type { voice as en } from "./en-voice.ts";

export const voice: Readonly<Record<keyof typeof en, string>> = {
  "nav.voice": "Giọng nói",
  "voice.title": "Giọng nói",
  "voice.lead": "Các bo mạch nói chuyện với máy chủ giọng nói qua Tendon.",
  "voice.talking.one": "{count} bo mạch đang nói chuyện",
  "voice.talking.other": "{count} bo mạch đang nói chuyện",
  "voice.more.one": "và {count} nữa",
  "voice.more.other": "và {count} nữa",
  "voice.mayNot": "Token của bạn không được xem thiết bị: cần read.",
  "voice.none": "Chưa có máy chủ giọng nói",
  "voice.noneHint":
    "Bo mạch vẫn nói chuyện với máy chủ giọng nói bạn đang có, trong khi tác tử dùng công cụ của nó. Ghi địa chỉ vào tendon.yaml rồi khởi động lại gateway:",
  "voice.quiet": "Không ai đang nói chuyện",
  "voice.wasQuiet": "Lúc đó không ai nói chuyện",
  "voice.quietHint":
    "Nói từ đánh thức với bo mạch, cuộc trò chuyện sẽ hiện ở đây. Không có bo mạch? Bo mạch ảo nói mỗi năm giây:",
  "voice.upstream": "Máy chủ giọng nói",
  "voice.lasts": "Đã nói được",
  "voice.up": "Từ thiết bị",
  "voice.down": "Đến thiết bị",
  "voice.packets.one": "{count} gói",
  "voice.packets.other": "{count} gói",
  "voice.lost": "mất {percent} %",
  "voice.jitter": "dao động {ms} ms",
  "voice.state.opening": "Đang kết nối",
  "voice.state.idle": "Im lặng",
  "voice.state.listening": "Đang nghe",
  "voice.state.speaking": "Đang nói",
  "voice.state.ending": "Đang kết thúc",
};
