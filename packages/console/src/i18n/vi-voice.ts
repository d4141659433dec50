import type { voice as en } from "./en-voice.ts";

export const voice: Readonly<Record<keyof typeof en, string>> = {
  "nav.voice": "Giọng nói",
  "voice.title": "Giọng nói",
  "voice.lead": "Các bo mạch nói chuyện với máy chủ giọng nói qua Tendon.",
  "voice.talking.one": "{count} cuộc trò chuyện đang diễn ra",
  "voice.talking.other": "{count} cuộc trò chuyện đang diễn ra",
  "voice.more.one": "và {count} nữa",
  "voice.more.other": "và {count} nữa",
  "voice.mayNot": "Token của bạn không xem được thiết bị. Cần quyền read.",
  "voice.none": "Chưa có máy chủ giọng nói",
  "voice.noneHint":
    "Bo mạch vẫn nói chuyện với máy chủ giọng nói của bạn trong khi tác tử dùng công cụ của chúng. Đặt địa chỉ của nó trong tendon.yaml rồi khởi động lại gateway:",
  "voice.quiet": "Không có cuộc trò chuyện nào",
  "voice.wasQuiet": "Lúc đó không có cuộc trò chuyện nào",
  "voice.quietHint":
    "Nói từ đánh thức với bo mạch, cuộc trò chuyện sẽ hiện ở đây. Không có bo mạch? Hãy chạy bo mạch ảo nói mỗi năm giây:",
  "voice.upstream": "Máy chủ giọng nói",
  "voice.lasts": "Thời lượng",
  "voice.up": "Từ thiết bị",
  "voice.down": "Đến thiết bị",
  "voice.packets.one": "{count} gói",
  "voice.packets.other": "{count} gói",
  "voice.lost": "mất {percent} %",
  "voice.jitter": "dao động {ms} ms",
  "voice.state.opening": "Đang kết nối",
  "voice.state.idle": "Đang rảnh",
  "voice.state.listening": "Đang nghe",
  "voice.state.speaking": "Đang nói",
  "voice.state.ending": "Đang kết thúc",
};
