import type { device as en } from "./en-device.ts";

export const device: Readonly<Record<keyof typeof en, string>> = {
  "device.board": "开发板",
  "device.firmware": "固件",
  "device.transport": "传输方式",
  "device.id": "ID",
  "status.temperature": "芯片温度",
  "delete.history": "同时删除它的调用、事件和照片",
  "delete.effectHistory":
    "设备会断开连接。它的名称、标签、凭据以及关于它的所有记录都会被删除。审计日志只保留这次删除。",
  "blocked.eachUse": "每次使用都需要批准。",
  "blocked.quarantined": "该工具在被接受之后发生了变化，须由管理员先接受更改。",
  "tools.changed": "已更改，已阻止",
  "tools.argumentsDecide": "对某些参数值，访问规则会要求批准或拒绝调用。",
  "confirm.approval": "访问规则要求批准：须由另一个人批准后，调用才会执行。",
  "purpose.sound": "声音",
  "purpose.camera": "摄像头",
  "purpose.screen": "屏幕",
  "purpose.light": "灯光",
  "purpose.climate": "温湿度与传感器",
  "purpose.safety": "安防与在家情况",
  "purpose.movement": "运动",
  "purpose.system": "系统与固件",
  "purpose.state": "状态与信息",
  "purpose.other": "其他",
};
