import type { device as en } from "./en-device.ts";

export const device: Readonly<Record<keyof typeof en, string>> = {
  "device.board": "Bo mạch",
  "device.firmware": "Firmware",
  "device.transport": "Giao thức",
  "device.id": "ID",
  "status.temperature": "Nhiệt độ chip",
  "delete.history": "Xóa cả lệnh gọi, sự kiện và ảnh của thiết bị",
  "delete.effectHistory":
    "Thiết bị bị ngắt kết nối. Tên, thẻ, thông tin xác thực và mọi dữ liệu đã ghi về thiết bị đều bị xóa. Nhật ký kiểm tra chỉ giữ lại việc xóa.",
  "blocked.eachUse": "Mỗi lần dùng đều cần phê duyệt.",
  "blocked.quarantined":
    "Công cụ đã thay đổi kể từ khi được chấp nhận. Quản trị viên phải chấp nhận thay đổi trước.",
  "tools.changed": "đã thay đổi, bị chặn",
  "tools.argumentsDecide": "Với một số giá trị, quy tắc truy cập yêu cầu phê duyệt hoặc từ chối lệnh gọi.",
  "confirm.approval":
    "Quy tắc truy cập yêu cầu phê duyệt: một người khác phải phê duyệt trước khi lệnh gọi chạy.",
  "purpose.sound": "Âm thanh",
  "purpose.camera": "Máy ảnh",
  "purpose.screen": "Màn hình",
  "purpose.light": "Đèn",
  "purpose.climate": "Khí hậu và cảm biến",
  "purpose.safety": "An ninh và sự hiện diện",
  "purpose.movement": "Chuyển động",
  "purpose.system": "Hệ thống và firmware",
  "purpose.state": "Trạng thái và thông tin",
  "purpose.other": "Khác",
};
