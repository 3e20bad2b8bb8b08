// What can stand as a name in Lua source.

const reserved: ReadonlySet<string> = new Set(
  'and break do else elseif end false for function goto if in local nil not or repeat return then true until while'
    .split(' '),
);

/** Whether `tool.NAME` can be written, or only `tool["NAME"]`. */
export const isLuaName = (name: string): boolean => /^[A-Za-z_]\w*$/.test(name) && !reserved.has(name);
