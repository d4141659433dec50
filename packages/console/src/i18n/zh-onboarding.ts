import type { onboarding as en } from "./en-onboarding.ts";

export const onboarding: Readonly<Record<keyof typeof en, string>> = {
  "signIn.title": "欢迎使用 Tendon",
  "signIn.lead": "你的设备、它们的工具以及对它们的调用。",
  "signIn.field": "令牌或登录码",
  "signIn.submit": "登录",
  "signIn.busy": "正在登录…",
  "signIn.hint": "可用此命令获得登录链接：",
  "signIn.wrong": "令牌或登录码无效。管理员令牌在网关数据文件夹的 admin-token 文件里。",
  "signIn.usedLink": "此链接已用过或已过期。运行下面的命令可获得新链接。",
  "signIn.wait": "失败次数过多，请等几秒后再试。",

  "signedOut.title": "你已退出登录",
  "signedOut.signed_out": "你在另一个标签页中退出了登录，或者浏览器清除了 Cookie。",
  "signedOut.token": "登录所用的令牌已被撤销、更换或已过期。",
  "signedOut.idle": "会话在 12 小时未使用后结束。",
  "signedOut.age": "会话在 7 天后结束。",
  "signedOut.displaced": "打开的会话太多，你的会话闲置时间最长。",
  "signedOut.unknown": "网关不认识此会话，它的存储可能已被更换。",
  "signedOut.next": "请用令牌重新登录，或运行下面的命令获得新链接。",

  "firstRun.title": "还没有设备",
  "firstRun.otaLabel": "OTA 地址",
  "firstRun.start": "启动虚拟设备",

  "reach.title": "开发板无法访问此地址",
  "reach.this_machine":
    "只有本机能访问 {host}：开发板拿到这个地址会在自己身上寻找网关。请用 --host 0.0.0.0 启动网关，让它在网络上监听。",
  "reach.public_url":
    "只有本机能访问 {host}：开发板拿到这个地址会在自己身上寻找网关。请把 http.publicUrl 设为本机在开发板所在网络中的地址。",
  "reach.unreadable":
    "固件无法解析此地址。请把 http.publicUrl 设为 http(s)://HOST:PORT，使用主机名或 IPv4 地址。",
};
