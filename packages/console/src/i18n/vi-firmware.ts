import type { firmware as en } from "./en-firmware.ts";

export const firmware: Readonly<Record<keyof typeof en, string>> = {
  "nav.firmware": "Firmware",
  "firmware.title": "Firmware",
  "firmware.lead": "Triển khai firmware mới cho bo mạch theo từng giai đoạn.",
  "firmware.mayNot": "Chỉ quản trị viên mới quản lý được firmware.",
  "firmware.none": "Chưa có ảnh firmware",
  "firmware.noneHint":
    "Tải lên ảnh firmware đã dựng, như build/xiaozhi.bin. Bo mạch cùng tên được cung cấp ảnh này khi khởi động lần tới, theo tỷ lệ bạn đặt. Nếu quá nhiều bo mạch cập nhật thất bại, việc triển khai tự dừng.",
  "firmware.add": "Tải ảnh lên",
  "firmware.state.offered": "Đang cung cấp",
  "firmware.state.halted": "Đã dừng",
  "firmware.state.missing": "Thiếu tệp",
  "firmware.forced": "cả cho bản mới hơn",
  "firmware.share": "cho {share} % bo mạch",
  "firmware.shareTagged": "cho {share} % bo mạch có thẻ {tags}",
  "firmware.uploaded": "tải lên",
  "firmware.rollout": "Tiến độ",
  "firmware.updated.one": "{count} đã cập nhật",
  "firmware.updated.other": "{count} đã cập nhật",
  "firmware.fetched.one": "{count} đã tải xuống",
  "firmware.fetched.other": "{count} đã tải xuống",
  "firmware.offered.one": "{count} đã được cung cấp",
  "firmware.offered.other": "{count} đã được cung cấp",
  "firmware.failed.one": "{count} thất bại",
  "firmware.failed.other": "{count} thất bại",
  "firmware.notRequested": "Chưa có bo mạch nào yêu cầu.",
  "firmware.failures": "Bo mạch cập nhật thất bại",
  "firmware.changeOffer": "Đổi phạm vi",
  "firmware.halt": "Dừng",
  "firmware.resume": "Tiếp tục",
  "firmware.remove": "Gỡ bỏ",
  "firmware.of": "{version} cho {board}",
  "firmware.missingHint": "Nút này không có tệp nên không cung cấp ảnh này.",
  "firmware.shareTitle": "Cung cấp {version} cho những bo mạch {board} nào?",
  "firmware.shareLabel": "Tỷ lệ bo mạch",
  "firmware.tagsHint":
    "Chỉ cung cấp cho bo mạch có một trong các thẻ này; để trống thì cho mọi bo mạch cùng tên. Cách nhau bằng dấu cách.",
  "firmware.startSmall": "Hãy bắt đầu với một thẻ hoặc tỷ lệ nhỏ, để ảnh lỗi chỉ đến ít bo mạch.",
  "firmware.shareEffect":
    "{share} % bo mạch {board} được cung cấp {version} khi khởi động lần tới. Bo mạch đã có thì giữ nguyên.",
  "firmware.shareEffectTagged":
    "{share} % bo mạch {board} có thẻ {tags} được cung cấp {version} khi khởi động lần tới. Bo mạch đã có thì giữ nguyên.",
  "firmware.haltTitle": "Dừng {version} cho {board}?",
  "firmware.haltEffect":
    "Không cung cấp cho bo mạch nào nữa, và các liên kết tải đã phát sẽ hết hiệu lực. Bo mạch đã có thì giữ nguyên.",
  "firmware.resumeTitle": "Tiếp tục {version} cho {board}?",
  "firmware.resumeEffect":
    "Nó được cung cấp lại cho {share} % bo mạch. Các lỗi trước đó không còn được tính.",
  "firmware.retry": "Cung cấp lại cho cả bo mạch cập nhật thất bại",
  "firmware.removeTitle": "Gỡ bỏ {version} cho {board}?",
  "firmware.removeEffect":
    "Tệp và số liệu bị xóa, không cung cấp cho bo mạch nào nữa. Bo mạch đã có thì giữ nguyên.",
  "firmware.file": "Tệp",
  "firmware.fileHint":
    "Chỉ ảnh ứng dụng đã dựng: build/xiaozhi.bin. Gateway kiểm tra nó trước khi cung cấp cho bo mạch.",
  "firmware.tooBig": "Tệp có kích thước {size}; ảnh tối đa {most}.",
  "firmware.board": "Bo mạch",
  "firmware.boardHint": "Tên mà bo mạch báo cáo, như esp-box-3.",
  "firmware.force": "Cung cấp cả cho bo mạch có bản mới hơn, để hạ cấp",
  "firmware.anyBoard": "Chấp nhận dù không chứa tên bo mạch",
  "firmware.submit": "Tải lên",
  "firmware.sending": "Đang tải lên…",
  "firmware.addEffect": "{share} % bo mạch {board} được cung cấp ảnh này khi khởi động lần tới.",
  "firmware.addEffectTagged":
    "{share} % bo mạch {board} có thẻ {tags} được cung cấp ảnh này khi khởi động lần tới.",
};
