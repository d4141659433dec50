import type { onboarding as en } from "./en-onboarding.ts";

export const onboarding: Readonly<Record<keyof typeof en, string>> = {
  "signIn.title": "Chào mừng đến với Tendon",
  "signIn.lead": "Thiết bị của bạn, công cụ của chúng và các lệnh gọi đến chúng.",
  "signIn.field": "Token hoặc mã",
  "signIn.submit": "Đăng nhập",
  "signIn.busy": "Đang đăng nhập…",
  "signIn.hint": "Để lấy liên kết đăng nhập, hãy chạy",
  "signIn.wrong":
    "Token hoặc mã không hợp lệ. Token quản trị nằm trong tệp admin-token ở thư mục dữ liệu của gateway.",
  "signIn.usedLink": "Liên kết này đã được dùng hoặc đã hết hạn. Hãy chạy lệnh bên dưới để lấy liên kết mới.",
  "signIn.wait": "Quá nhiều lần thử thất bại. Hãy chờ vài giây rồi thử lại.",

  "signedOut.title": "Bạn đã bị đăng xuất",
  "signedOut.signed_out": "Bạn đã đăng xuất ở một thẻ khác, hoặc trình duyệt đã xóa cookie.",
  "signedOut.token": "Token bạn dùng để đăng nhập đã bị thu hồi, bị thay thế hoặc đã hết hạn.",
  "signedOut.idle": "Phiên kết thúc sau 12 giờ không sử dụng.",
  "signedOut.age": "Phiên kết thúc sau 7 ngày.",
  "signedOut.displaced": "Có quá nhiều phiên đang mở và phiên của bạn không hoạt động lâu nhất.",
  "signedOut.unknown": "Gateway không biết phiên này. Bộ lưu trữ của nó có thể đã bị thay thế.",
  "signedOut.next": "Hãy đăng nhập lại bằng token, hoặc bằng liên kết mới từ lệnh bên dưới.",

  "firstRun.title": "Chưa có thiết bị nào",
  "firstRun.otaLabel": "Địa chỉ OTA",
  "firstRun.start": "Khởi động thiết bị ảo",

  "reach.title": "Bo mạch không kết nối được tới địa chỉ này",
  "reach.this_machine":
    "Chỉ máy này kết nối được tới {host}: bo mạch nhận địa chỉ này sẽ tìm gateway trên chính nó. Hãy chạy gateway với --host 0.0.0.0 để nhận kết nối từ mạng.",
  "reach.public_url":
    "Chỉ máy này kết nối được tới {host}: bo mạch nhận địa chỉ này sẽ tìm gateway trên chính nó. Hãy đặt http.publicUrl là địa chỉ của máy này trong mạng của bo mạch.",
  "reach.unreadable":
    "Firmware không phân tích được địa chỉ này. Hãy đặt http.publicUrl là http(s)://HOST:PORT với tên máy hoặc địa chỉ IPv4.",
};
