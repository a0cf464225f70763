/**
 * What a shop may paste before the script's tag, each one line of an inline script, for pages that call
 * `track` before the script has arrived. It records the helper's name, its arguments, the address, the
 * moment and an id of its own (a UUID of version 7), and answers a promise that settles when the script
 * has replayed the call. It takes the place of an element by that id, which is no property of the window's
 * own, but not of the script, of itself or of anything else of the page's.
 *
 * The name at its end is where the helpers are: `track`, or what the key's setting `global` says.
 */
const record =
  'w.hasOwnProperty(n)&&w[n]||(w[n]=new Proxy({q},{get:(t,p)=>p=="then"?0:t[p]||((...a)=>new Promise(s=>{let m=+new Date;q.push([p,a,location.href,m,m.toString(16).padStart(12,0).replace(/.{8}/,"$&-")+"-7"+(q.length+4096).toString(16).slice(1)+"-8000-"+Math.random().toString(16).slice(2,14).padEnd(12,0),s])}))}))'

/** Storage names that keep calls: those of the outbox, whose events they become. */
const keep =
  ';addEventListener("pagehide",()=>q.map(c=>{try{localStorage["track.e."+c[4]]=JSON.stringify(c)}catch(e){}}))'

/*
 * The same as ES5, for templates and for tools that read nothing newer, such as the custom HTML of a tag manager.
 * A template language takes a brace with a letter, a digit, a sign or another brace behind it for its own, so
 * each brace here has a space behind it, and no pattern counts by braces.
 */
const recordEs5 =
  ' w.hasOwnProperty(n)&&w[n]||(w[n]=new Proxy({ q:q },{ get:function(t,p){ return p=="then"?0:t[p]||function(){ var a=[].slice.call(arguments);return new Promise(function(s){ var m=+new Date;q.push([p,a,location.href,m,m.toString(16).padStart(12,0).replace(/......../,"$&-")+"-7"+(q.length+4096).toString(16).slice(1)+"-8000-"+Math.random().toString(16).slice(2,14).padEnd(12,0),s]) }) } } }))'
const keepEs5 =
  ';addEventListener("pagehide",function(){ q.map(function(c){ try{ localStorage["track.e."+c[4]]=JSON.stringify(c) }catch(e){ } }) })'

/** Nothing outlives the page. */
export const STUB = `!function(w,q,n){${record}}(window,[],"track")`

/**
 * What no script has taken when the page is left is kept in storage, and the next page that loads the
 * script delivers it.
 */
export const KEEPING_STUB = `!function(w,q,n){${record}${keep}}(window,[],"track")`

/** `STUB` for templates and old tools. */
export const STUB_ES5 = `!function(w,q,n){${recordEs5} }(window,[],"track")`

/** `KEEPING_STUB` for templates and old tools. */
export const KEEPING_STUB_ES5 = `!function(w,q,n){${recordEs5}${keepEs5} }(window,[],"track")`
