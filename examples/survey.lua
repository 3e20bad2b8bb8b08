-- Surveys the JavaScript files of an installed package: one run instead of some fifty tool calls.
local listing = wizard.call("list_files", {pattern = "**/*.js"})
assert(listing.ok, listing.content)

local files, lines, bytes, longest = 0, 0, 0, {name = "", lines = 0}
local exports, todo = 0, {}
for _, path in ipairs(listing.structured.files) do
  if files == 50 then break end
  local text, problem = tool.read_file{path = path}
  if text then
    files = files + 1
    bytes = bytes + #text
    local count = select(2, text:gsub("\n", "\n"))
    lines = lines + count
    if count > longest.lines then longest = {name = path, lines = count} end
    exports = exports + select(2, text:gsub("exports%.[%a_$]", "%0"))
    if text:find("TODO", 1, true) then todo[#todo + 1] = path end
  else
    print("could not read " .. path .. ": " .. problem)
  end
end

local found = wizard.call("search_files", {pattern = "new Function", literal = true, glob = "**/*.js"})
print(("%d of %d files read: %d lines, %d bytes, %d exports"):format(files, #listing.structured.files, lines, bytes, exports))
print(("longest: %s (%d lines)"):format(longest.name, longest.lines))
print("files with TODO: " .. (#todo > 0 and table.concat(todo, ", ") or "none"))
print("code made from text: " .. #found.structured.matches .. " places")
